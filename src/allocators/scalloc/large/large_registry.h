#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/assertion.h"
#include "base/bits.h"
#include "base/os_pages.h"

namespace heaplab::scalloc {

// From blocks to their sizes: a hash table with linear probing, of a fixed capacity, in pages of its own.
// Must never be full.
template <class Platform>
class block_table {
public:
  struct entry {
    char* block;  // null: no entry
    std::size_t bytes;
  };

  // `capacity` is a power of two, or 0. A capacity of 0: no memory.
  static block_table map(std::size_t capacity) {
    block_table result;
    result.entries_ = static_cast<entry*>(Platform::allocate(bytes_for(capacity), os_pages::page_bytes()));
    if (result.entries_ != nullptr) result.capacity_ = capacity;
    return result;
  }
  // Where the system refuses, the addresses are lost.
  void unmap() const {
    if (capacity_ == 0) return;
    if (!Platform::unmap(entries_, bytes_for(capacity_))) Platform::purge(entries_, bytes_for(capacity_));
  }

  std::size_t capacity() const { return capacity_; }

  // Null: no such entry.
  entry* find(const void* block) const {
    if (capacity_ == 0) return nullptr;
    entry& there = slot_for(block);
    return there.block == nullptr ? nullptr : &there;
  }

  // False: the block was in the table already, perhaps with another size.
  bool insert(entry what) const {
    entry& there = slot_for(what.block);
    const bool is_new = there.block == nullptr;
    set(there, what);
    return is_new;
  }

  // Moves later entries of the probe sequence into the gap, so that every entry can still be reached.
  void remove(const entry* removed) const {
    auto gap = static_cast<std::size_t>(removed - entries_);
    for (std::size_t slot = next(gap); entries_[slot].block != nullptr; slot = next(slot)) {
      const std::size_t home = slot_of(entries_[slot].block);
      const bool reaches_gap = ((slot - home) & (capacity_ - 1)) >= ((slot - gap) & (capacity_ - 1));
      if (!reaches_gap) continue;
      set(entries_[gap], entries_[slot]);
      gap = slot;
    }
    entries_[gap].block = nullptr;
  }

  template <class Visit>
  void for_each(Visit&& visit) const {
    for (std::size_t slot = 0; slot < capacity_; ++slot)
      if (entries_[slot].block != nullptr) visit(entries_[slot]);
  }

private:
  static std::size_t bytes_for(std::size_t capacity) {
    return align_up(capacity * sizeof(entry), os_pages::page_bytes());
  }

  // Fibonacci hashing of the page number.
  std::size_t slot_of(const void* block) const {
    const std::uint64_t page = reinterpret_cast<std::uintptr_t>(block) / os_pages::smallest_page_bytes;
    return (page * 0x9e37'79b9'7f4a'7c15U >> 32) & (capacity_ - 1);
  }
  std::size_t next(std::size_t slot) const { return (slot + 1) & (capacity_ - 1); }

  // The entry of the block, or the empty entry where the block would be.
  entry& slot_for(const void* block) const {
    std::size_t slot = slot_of(block);
    while (entries_[slot].block != nullptr && entries_[slot].block != block) slot = next(slot);
    return entries_[slot];
  }

  // The order of the two stores: a child of fork finds no block with the size of another block, unless that
  // other block was being removed.
  static void set(entry& there, entry what) {
    there.bytes = what.bytes;
    std::atomic_signal_fence(std::memory_order_seq_cst);
    there.block = what.block;
  }

  entry* entries_ = nullptr;
  std::size_t capacity_ = 0;
};

// A table that no registry uses: memory for a larger table, or a table that a larger one has replaced. For
// one thread, which holds no lock where it makes, maps and ends the spare: these call the system. A child of
// fork loses what another thread has here.
template <class Platform>
class spare_table {
public:
  spare_table() = default;
  ~spare_table() { table.unmap(); }
  spare_table(const spare_table&) = delete;
  spare_table& operator=(const spare_table&) = delete;

  // False: no memory.
  bool map(std::size_t capacity) {
    table.unmap();
    table = block_table<Platform>::map(capacity);
    return table.capacity() > 0;
  }

  block_table<Platform> table;
};

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
