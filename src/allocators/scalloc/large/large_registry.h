#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>

#include "allocators/scalloc/large/block_table.h"
#include "base/assertion.h"

namespace heaplab::scalloc {

// The mappings of large blocks: address to size, in a table that is at most half full. For the holder of a
// lock, under which nothing here calls the system: whoever finds the table full maps a larger one without
// the lock, and comes again with it.
template <class Traits>
class large_registry {
  using platform = typename Traits::platform;
  using table = block_table<platform>;

public:
  using spare = spare_table<platform>;

  // `bytes` > 0. Where the table is full, its entries move into a larger `other`; the two tables then change
  // places. False: `other` is not larger, and nothing has changed.
  bool add(char* block, std::size_t bytes, spare& other) {
    if (is_full()) {
      if (other.table.capacity() <= now().capacity()) return false;
      replace_by(other);
    }
    if (now().insert({block, bytes})) ++count_;
    return true;
  }

  // The capacity of the table that replaces this one when it is full.
  std::size_t next_capacity() const {
    return std::max(Traits::config.first_registry_entries, 2 * now().capacity());
  }

  // 0 where no block begins.
  std::size_t bytes_of(const void* block) const {
    const auto* const found = now().find(block);
    return found == nullptr ? 0 : found->bytes;
  }

  // Returns the block's size; 0 where no block begins.
  std::size_t remove(const void* block) {
    const auto* const found = now().find(block);
    if (found == nullptr) return 0;
    const std::size_t bytes = found->bytes;
    now().remove(found);
    --count_;
    return bytes;
  }

  // Takes out a block whose pages are about to move, and keeps room for end_move(). Returns the block's size;
  // 0 where no block begins.
  std::size_t begin_move(const void* block) {
    const std::size_t bytes = remove(block);
    if (bytes != 0) ++moving_;
    return bytes;
  }

  // Adds the block again, wherever its pages are now. Needs no memory.
  void end_move(char* block, std::size_t bytes) {
    --moving_;
    HEAPLAB_ASSERT(!is_full());
    if (now().insert({block, bytes})) ++count_;
  }

  std::size_t count() const { return count_; }

  // Calls visit(block, bytes) for every entry.
  template <class Visit>
  void for_each(Visit&& visit) const {
    now().for_each([&](const auto& entry) { visit(entry.block, entry.bytes); });
  }

  // The bytes of all blocks. Walks the table.
  std::size_t total_bytes() const {
    std::size_t result = 0;
    for_each([&result](const char*, std::size_t bytes) { result += bytes; });
    return result;
  }

  // In the child of a fork, where another thread may have been changing the table: an entry may then stand in
  // two slots, and the count may be wrong.
  void repair() {
    if (spare fresh; fresh.map(now().capacity())) return replace_by(fresh);
    count_ = 0;
    for_each([this](const char*, std::size_t) { ++count_; });
  }

  // Whether every entry is found, has a size, and is counted. Walks the table.
  bool is_valid() const {
    std::size_t found = 0;
    for_each([&](const char* block, std::size_t bytes) { found += bytes > 0 && bytes_of(block) == bytes; });
    return found == count_ && 2 * (count_ + moving_) <= now().capacity();
  }

private:
  const table& now() const { return tables_[current_]; }

  bool is_full() const { return 2 * (count_ + moving_ + 1) > now().capacity(); }

  // Copies the entries into the other table. The two tables then change places.
  void replace_by(spare& other) {
    const table old = now();
    table& larger = tables_[1 - current_];
    larger = other.table;
    std::size_t count = 0;
    old.for_each([&](const auto& entry) { count += larger.insert(entry); });
    // A child of fork finds either the old table or the new table whole.
    std::atomic_signal_fence(std::memory_order_seq_cst);
    current_ = 1 - current_;
    count_ = count;
    other.table = old;
    HEAPLAB_ASSERT_EXPENSIVE(is_valid());
  }

  table tables_[2];
  unsigned current_ = 0;
  std::size_t count_ = 0;
  // Between begin_move() and end_move(). The moves of threads that vanished in a fork never end.
  std::size_t moving_ = 0;
};

}  // namespace heaplab::scalloc
