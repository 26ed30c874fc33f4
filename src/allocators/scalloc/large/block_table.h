#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

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

  // Calls visit(entry) for every entry.
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

}  // namespace heaplab::scalloc
