// Mechanism: which pool serves which size. Sizes grow in steps of 8 bytes at the bottom and geometrically
// above.
#pragma once

#include <bit>
#include <cstddef>

namespace heaplab::local {

// The shape of a multipool, fixed at compile time.
struct pool_layout {
  // Larger requests pass through to upstream. A power of two, at least 16.
  std::size_t largest_block = 4096;
  // The number of sizes from one power of two to the next: a power of two, at most 64. 1 is the layout of the
  // papers (8, 16, 32, .. 4096: ten pools, and up to half of a block unused). 4 wastes at most a fifth of a
  // block, costs 32 pools of 9 bytes in each allocator, and is not slower.
  std::size_t steps_per_doubling = 4;
};

// Sizes 8, 16, .. 8 * steps, then `steps` equal steps from each power of two to the next.
template <pool_layout Layout>
struct size_classes {
  static constexpr std::size_t steps = Layout.steps_per_doubling;
  static constexpr std::size_t granularity = 8;  // 2^3: room for the link of a free block

  static_assert(std::has_single_bit(steps) && steps <= 64);
  static_assert(std::has_single_bit(Layout.largest_block) && Layout.largest_block >= 2 * granularity);

  // The class of a block of `last` + 1 bytes, computed without a branch.
  static constexpr std::size_t index_of_last(std::size_t last) {
    constexpr auto lowest = static_cast<std::size_t>(std::bit_width(granularity * steps));
    const auto width = static_cast<std::size_t>(std::bit_width(last | (granularity * steps)));
    const std::size_t group = width - lowest;
    return group * steps + (last >> (group + 3));
  }

  static constexpr std::size_t count = index_of_last(Layout.largest_block - 1) + 1;

  static constexpr std::size_t size_of(std::size_t index) {
    if (index < steps) return (index + 1) * granularity;
    return (steps + index % steps + 1) * granularity << (index / steps - 1);
  }
};

}  // namespace heaplab::local
