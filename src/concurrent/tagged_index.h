#pragma once

#include <cstdint>

#include "base/narrow.h"

namespace heaplab::concurrent {

// An index of at most 27 bits, or none, and a tag of 36 bits in one 64-bit word. The tag keeps a
// compare-and-swap from taking the word for an older word with the same index (the ABA problem). At one
// change every 10 ns a tag comes back after 11 minutes, and only a thread that slept through exactly that
// time would be deceived. The value 0 is "none, tag 0".
class tagged_index {
public:
  static constexpr unsigned index_bits = 27;
  static constexpr std::uint32_t index_limit = (std::uint32_t{1} << index_bits);

  constexpr tagged_index() = default;
  constexpr explicit tagged_index(std::uint64_t word) : word_(word) {}

  constexpr std::uint64_t word() const { return word_; }
  constexpr bool is_none() const { return (word_ & mask) == 0; }
  // Precondition: not none.
  constexpr std::uint32_t index() const { return narrow<std::uint32_t>((word_ & mask) - 1); }
  constexpr std::uint64_t tag() const { return word_ >> shift; }

  // Precondition: index < index_limit.
  constexpr tagged_index with_index(std::uint32_t index) const {
    return tagged_index{(tag() << shift) | (std::uint64_t{index} + 1)};
  }
  constexpr tagged_index with_none() const { return tagged_index{tag() << shift}; }
  constexpr tagged_index with_next_tag() const { return tagged_index{word_ + (std::uint64_t{1} << shift)}; }

  friend constexpr bool operator==(tagged_index, tagged_index) = default;

private:
  // One bit more than the index: 0 stands for none.
  static constexpr unsigned shift = index_bits + 1;
  static constexpr std::uint64_t mask = (std::uint64_t{1} << shift) - 1;

  std::uint64_t word_ = 0;
};

}  // namespace heaplab::concurrent
