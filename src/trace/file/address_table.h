// Maps the addresses of live blocks to numbers: linear probing, at most 32 bytes for each block.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/assertion.h"

namespace heaplab::trace {

class address_table {
public:
  address_table() : slots_(first_slots) {}

  // Returns the previous number of the address, if any. Precondition: address is not 0.
  std::optional<std::uint64_t> put(std::uint64_t address, std::uint64_t number) {
    HEAPLAB_ASSERT(address != 0);
    if (2 * (size_ + 1) > slots_.size()) grow();
    slot& found = slots_[find(address)];
    const bool there = found.address != 0;
    const std::uint64_t before = found.number;
    found = {address, number};
    size_ += there ? 0 : 1;
    HEAPLAB_ASSERT(2 * size_ <= slots_.size());  // find() ends at a free slot
    return there ? std::optional(before) : std::nullopt;
  }

  // Removes the address and returns its number, if it was in the table.
  std::optional<std::uint64_t> take(std::uint64_t address) {
    const std::size_t at = find(address);
    if (address == 0 || slots_[at].address == 0) return std::nullopt;
    const std::uint64_t number = slots_[at].number;
    close_gap(at);
    --size_;
    return number;
  }

  std::size_t size() const { return size_; }

private:
  struct slot {
    std::uint64_t address = 0;  // 0: the slot is free
    std::uint64_t number = 0;
  };
  static constexpr std::size_t first_slots = 1024;  // a power of two, like every number of slots

  std::size_t home(std::uint64_t address) const {
    // Fibonacci hashing: addresses of blocks differ in their middle bits.
    return (address * 0x9E3779B97F4A7C15ULL >> 20) & (slots_.size() - 1);
  }

  // The slot that holds the address, or the free slot for it.
  std::size_t find(std::uint64_t address) const {
    std::size_t at = home(address);
    while (slots_[at].address != 0 && slots_[at].address != address) at = (at + 1) & (slots_.size() - 1);
    return at;
  }

  // Moves back entries that stand behind the freed slot only because that slot was taken (Knuth, volume 3,
  // 6.4, algorithm R).
  void close_gap(std::size_t gap) {
    const std::size_t mask = slots_.size() - 1;
    for (std::size_t at = (gap + 1) & mask; slots_[at].address != 0; at = (at + 1) & mask) {
      const bool may_move = ((at - home(slots_[at].address)) & mask) >= ((at - gap) & mask);
      if (!may_move) continue;
      slots_[gap] = slots_[at];
      gap = at;
    }
    slots_[gap] = {};
  }

  void grow() {
    std::vector<slot> old(2 * slots_.size());
    old.swap(slots_);
    for (const slot& moved : old)
      if (moved.address != 0) slots_[find(moved.address)] = moved;
  }

  std::vector<slot> slots_;
  std::size_t size_ = 0;
};

}  // namespace heaplab::trace
