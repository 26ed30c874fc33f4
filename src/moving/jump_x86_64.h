// Jumps of x86-64.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace heaplab::moving {

inline constexpr std::size_t jump_bytes = 5;
inline constexpr std::uint64_t furthest_entry = std::uint64_t{1} << 30;  // half of what a jump reaches

// Precondition: the distance is at most furthest_entry.
inline std::array<std::uint8_t, jump_bytes> jump(std::uint64_t from, std::uint64_t to) {
  const std::uint64_t distance = to - (from + jump_bytes);
  std::array<std::uint8_t, jump_bytes> code{0xE9};
  for (std::size_t byte = 1; byte < jump_bytes; ++byte)
    code[byte] = static_cast<std::uint8_t>(distance >> 8 * (byte - 1));
  return code;
}

}  // namespace heaplab::moving
