#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/bits.h"
#include "base/cache_line.h"
#include "base/narrow.h"

namespace heaplab::steady {

// Every block is whole cache lines: multiples of a line up to 8 lines, then four sizes in each doubling.
inline constexpr unsigned linear_classes = 8, classes_per_doubling = 4;
inline constexpr std::size_t linear_limit = linear_classes * cache_line_bytes;
inline constexpr unsigned largest_block_log2 = 36;
inline constexpr std::size_t largest_block = std::size_t{1} << largest_block_log2;
inline constexpr unsigned class_count =
    linear_classes + classes_per_doubling * (largest_block_log2 - log2_floor(linear_limit));

// The class of the smallest block with `size` bytes; size <= largest_block.
constexpr unsigned class_of(std::size_t size) {
  const std::size_t last = size - (size != 0);  // the offset of the last byte
  if (last < linear_limit) return narrow<unsigned>(last / cache_line_bytes);
  const unsigned doubling = log2_floor(last);
  const auto quarter = narrow<unsigned>(last >> (doubling - 2));  // 4 to 7
  return linear_classes + (doubling - log2_floor(linear_limit)) * classes_per_doubling + quarter - 4;
}

constexpr std::size_t block_bytes(unsigned size_class) {
  if (size_class < linear_classes) return (size_class + 1) * cache_line_bytes;
  const unsigned above = size_class - linear_classes;
  const std::size_t quarters = 5 + above % classes_per_doubling;
  return quarters << (log2_floor(linear_limit) - 2 + above / classes_per_doubling);
}

// In cache lines.
inline constexpr auto lines_of_class = [] {
  std::array<std::uint32_t, class_count> lines{};
  for (unsigned size_class = 0; size_class < class_count; ++size_class)
    lines[size_class] = narrow<std::uint32_t>(block_bytes(size_class) / cache_line_bytes);
  return lines;
}();

}  // namespace heaplab::steady
