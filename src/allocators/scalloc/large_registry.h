#pragma once

#include <cstddef>
#include <cstdint>

#include "base/os_pages.h"

namespace heaplab::scalloc {

// The mappings of large blocks: address to size. A hash table with linear probing in pages of its own, at
// most half full. For the holder of a lock.
class large_registry {
public:
  // False: no memory for a larger table, nothing has changed. `block` is not in the table; bytes > 0.
  bool add(char* block, std::size_t bytes) {
    if (2 * (count_ + 1) > capacity_ && !grow()) return false;
    place(table_, capacity_, {block, bytes});
    ++count_;
    return true;
  }

  // 0 where no block begins.
  std::size_t bytes_of(const void* block) const {
    const entry* const it = find(block);
    return it == nullptr ? 0 : it->bytes;
  }

  // The block stays where it is with another size.
  void resize(const void* block, std::size_t bytes) { find(block)->bytes = bytes; }

  // Its size; 0 where no block begins.
  std::size_t remove(const void* block) {
    entry* const it = find(block);
    if (it == nullptr) return 0;
    const std::size_t bytes = it->bytes;
    close_gap(static_cast<std::size_t>(it - table_));
    --count_;
    return bytes;
  }

  std::size_t count() const { return count_; }

private:
  struct entry {
    char* block;  // null: no entry
    std::size_t bytes;
  };
  static constexpr std::size_t first_capacity = os_pages::page_bytes / sizeof(entry);

  // Addresses are multiples of a page. Fibonacci hashing.
  static std::size_t slot_of(const void* block, std::size_t capacity) {
    const std::uint64_t page = reinterpret_cast<std::uintptr_t>(block) / os_pages::page_bytes;
    return (page * 0x9e37'79b9'7f4a'7c15U >> 32) & (capacity - 1);
  }

  entry* find(const void* block) const {
    if (capacity_ == 0) return nullptr;
    for (std::size_t slot = slot_of(block, capacity_); table_[slot].block != nullptr; slot = next(slot))
      if (table_[slot].block == block) return &table_[slot];
    return nullptr;
  }

  std::size_t next(std::size_t slot) const { return (slot + 1) & (capacity_ - 1); }

  static void place(entry* table, std::size_t capacity, entry what) {
    std::size_t slot = slot_of(what.block, capacity);
    while (table[slot].block != nullptr) slot = (slot + 1) & (capacity - 1);
    table[slot] = what;
  }

  // Moves later entries of the probe sequence into the gap, so that none becomes unreachable.
  void close_gap(std::size_t gap) {
    for (std::size_t slot = next(gap); table_[slot].block != nullptr; slot = next(slot)) {
      const std::size_t home = slot_of(table_[slot].block, capacity_);
      const bool reaches_gap = ((slot - home) & (capacity_ - 1)) >= ((slot - gap) & (capacity_ - 1));
      if (!reaches_gap) continue;
      table_[gap] = table_[slot];
      gap = slot;
    }
    table_[gap] = {};
  }

  bool grow() {
    const std::size_t capacity = capacity_ == 0 ? first_capacity : 2 * capacity_;
    auto* const table = static_cast<entry*>(os_pages::allocate(capacity * sizeof(entry)));
    if (table == nullptr) return false;
    for (std::size_t slot = 0; slot < capacity_; ++slot)
      if (table_[slot].block != nullptr) place(table, capacity, table_[slot]);
    os_pages::unmap(table_, capacity_ * sizeof(entry));
    table_ = table;
    capacity_ = capacity;
    return true;
  }

  entry* table_ = nullptr;
  std::size_t capacity_ = 0;  // a power of two
  std::size_t count_ = 0;
};

}  // namespace heaplab::scalloc
