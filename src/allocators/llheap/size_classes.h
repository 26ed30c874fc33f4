// Which bucket serves a request. Bucket sizes grow by 16 bytes up to 128 bytes, then in four equal steps to
// each doubling, so that at most a fifth of a larger block is unused. Sizes exclude the header, so that a
// request for a power of two wastes nothing.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/bits.h"
#include "base/compiler.h"
#include "base/narrow.h"

namespace heaplab::llheap {

inline constexpr std::size_t linear_buckets = 8;      // 16, 32, ... 128
inline constexpr std::size_t steps_per_doubling = 4;  // 160, 192, 224, 256, 320, ...
inline constexpr std::size_t largest_linear = linear_buckets * 16;
inline constexpr std::size_t largest_bucketed = std::size_t{64} << 20;
inline constexpr std::size_t bucket_count =
    linear_buckets + steps_per_doubling * (log2_floor(largest_bucketed) - log2_floor(largest_linear));

// Requests up to here find their bucket with one load.
inline constexpr std::size_t largest_in_table = 1024;

// User bytes of a block of this bucket.
constexpr std::size_t bucket_bytes(std::size_t index) {
  if (index < linear_buckets) return 16 * (index + 1);
  const std::size_t step = index - linear_buckets;
  const std::size_t below = largest_linear << (step / steps_per_doubling);
  return below + (step % steps_per_doubling + 1) * (below / steps_per_doubling);
}

// The smallest bucket that holds `bytes`, largest_linear < bytes <= largest_bucketed.
constexpr std::size_t bucket_by_bits(std::size_t bytes) {
  const unsigned doubling = log2_floor(bytes - 1);
  const std::size_t step = ((bytes - 1) >> (doubling - 2)) & 3;
  return linear_buckets + (doubling - log2_floor(largest_linear)) * steps_per_doubling + step;
}

inline constexpr auto bucket_table = [] {
  std::array<std::uint8_t, largest_in_table / 16 + 1> table{};
  for (std::size_t unit = 0; unit < table.size(); ++unit) {
    const std::size_t bytes = unit == 0 ? 1 : unit * 16;
    table[unit] =
        narrow<std::uint8_t>(bytes <= largest_linear ? (bytes + 15) / 16 - 1 : bucket_by_bits(bytes));
  }
  return table;
}();

// The smallest bucket that holds `bytes` <= largest_bucketed; 0 bytes are served as 1.
HEAPLAB_FAST_PATH constexpr std::size_t bucket_of(std::size_t bytes) {
  return bytes <= largest_in_table ? bucket_table[(bytes + 15) / 16] : bucket_by_bits(bytes);
}

static_assert(bucket_count <= 128, "a bucket's index has seven bits in a block's header");
static_assert(bucket_bytes(bucket_count - 1) == largest_bucketed);

}  // namespace heaplab::llheap
