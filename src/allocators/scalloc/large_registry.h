#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/assertion.h"
#include "base/os_pages.h"

namespace heaplab::scalloc {

// The mappings of large blocks: address to size. A hash table with linear probing in pages of its own, at
// most half full. For the holder of a lock.
template <class Platform>
class large_registry {
public:
  // `bytes` > 0. False: no memory for a larger table, and nothing has changed.
  bool add(char* block, std::size_t bytes) {
    if (2 * (count_ + moving_ + 1) > now().capacity && !rehash(std::max(first_capacity, 2 * now().capacity)))
      return false;
    if (place(now(), {block, bytes})) ++count_;
    return true;
  }

  // 0 where no block begins.
  std::size_t bytes_of(const void* block) const {
    const entry* const it = find(block);
    return it == nullptr ? 0 : it->bytes;
  }

  // Returns the block's size; 0 where no block begins.
  std::size_t remove(const void* block) {
    entry* const it = find(block);
    if (it == nullptr) return 0;
    const std::size_t bytes = it->bytes;
    close_gap(static_cast<std::size_t>(it - now().entries));
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
    [[maybe_unused]] const bool is_added = add(block, bytes);
    HEAPLAB_ASSERT(is_added);
  }

  std::size_t count() const { return count_; }

  // Calls visit(block, bytes) for every entry.
  template <class Visit>
  void for_each(Visit&& visit) const {
    for (std::size_t slot = 0; slot < now().capacity; ++slot)
      if (const entry& there = now().entries[slot]; there.block != nullptr) visit(there.block, there.bytes);
  }

  // Of all blocks together. Walks the table.
  std::size_t total_bytes() const {
    std::size_t result = 0;
    for_each([&result](const char*, std::size_t bytes) { result += bytes; });
    return result;
  }

  // In the child of a fork, where another thread may have been changing the table: an entry may then stand in
  // two slots, and the count may be wrong.
  void repair() {
    if (now().capacity == 0 || rehash(now().capacity)) return;
    count_ = 0;
    for_each([this](const char*, std::size_t) { ++count_; });
  }

  // Whether every entry is found, has a size, and is counted. Walks the table.
  bool is_valid() const {
    std::size_t found = 0;
    for_each([&](const char* block, std::size_t bytes) { found += bytes > 0 && bytes_of(block) == bytes; });
    return found == count_ && 2 * (count_ + moving_) <= now().capacity;
  }

private:
  struct entry {
    char* block;  // null: no entry
    std::size_t bytes;
  };
  struct table {
    entry* entries = nullptr;
    std::size_t capacity = 0;  // a power of two
  };
  static constexpr std::size_t first_capacity = os_pages::largest_page_bytes / sizeof(entry);

  const table& now() const { return tables_[current_]; }

  // Fibonacci hashing of the page number.
  static std::size_t slot_of(const void* block, std::size_t capacity) {
    const std::uint64_t page = reinterpret_cast<std::uintptr_t>(block) / os_pages::smallest_page_bytes;
    return (page * 0x9e37'79b9'7f4a'7c15U >> 32) & (capacity - 1);
  }

  entry* find(const void* block) const {
    if (now().capacity == 0) return nullptr;
    entry& there = slot_for(now(), block);
    return there.block == nullptr ? nullptr : &there;
  }

  // The entry of the block, or the empty entry where the block would be.
  static entry& slot_for(const table& in, const void* block) {
    std::size_t slot = slot_of(block, in.capacity);
    while (in.entries[slot].block != nullptr && in.entries[slot].block != block) slot = next(in, slot);
    return in.entries[slot];
  }

  static std::size_t next(const table& in, std::size_t slot) { return (slot + 1) & (in.capacity - 1); }

  // False: the block was in the table already, perhaps with another size.
  static bool place(const table& in, entry what) {
    entry& there = slot_for(in, what.block);
    const bool is_new = there.block == nullptr;
    set(there, what);
    return is_new;
  }

  // The order of the two stores: a child of fork finds no block with the size of another block, unless that
  // other block was being removed.
  static void set(entry& there, entry what) {
    there.bytes = what.bytes;
    std::atomic_signal_fence(std::memory_order_seq_cst);
    there.block = what.block;
  }

  // Moves later entries of the probe sequence into the gap, so that every entry can still be reached.
  void close_gap(std::size_t gap) {
    const table& in = now();
    for (std::size_t slot = next(in, gap); in.entries[slot].block != nullptr; slot = next(in, slot)) {
      const std::size_t home = slot_of(in.entries[slot].block, in.capacity);
      const bool reaches_gap = ((slot - home) & (in.capacity - 1)) >= ((slot - gap) & (in.capacity - 1));
      if (!reaches_gap) continue;
      set(in.entries[gap], in.entries[slot]);
      gap = slot;
    }
    in.entries[gap].block = nullptr;
  }

  // Copies the entries into a new table, which becomes the present table. False: no memory, and nothing has
  // changed.
  bool rehash(std::size_t capacity) {
    const table old = now();
    auto* const entries =
        static_cast<entry*>(Platform::allocate(capacity * sizeof(entry), os_pages::page_bytes()));
    if (entries == nullptr) return false;
    table& other = tables_[1 - current_];
    other = {entries, capacity};
    std::size_t count = 0;
    for (std::size_t slot = 0; slot < old.capacity; ++slot)
      if (old.entries[slot].block != nullptr && place(other, old.entries[slot])) ++count;
    // A child of fork finds either the old table or the new table whole.
    std::atomic_signal_fence(std::memory_order_seq_cst);
    current_ = 1 - current_;
    count_ = count;
    std::atomic_signal_fence(std::memory_order_seq_cst);
    const std::size_t old_bytes = old.capacity * sizeof(entry);
    if (!Platform::unmap(old.entries, old_bytes)) Platform::purge(old.entries, old_bytes);
    HEAPLAB_ASSERT_EXPENSIVE(is_valid());
    return true;
  }

  table tables_[2];
  unsigned current_ = 0;
  std::size_t count_ = 0;
  // Between begin_move() and end_move(). The moves of threads that vanished in a fork never end.
  std::size_t moving_ = 0;
};

}  // namespace heaplab::scalloc
