// Jumps of x86-64.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>

namespace heaplab::moving {

inline constexpr std::size_t jump_bytes = 5;
inline constexpr std::uint64_t furthest_entry = std::uint64_t{1} << 30;  // half of what a jump reaches

// Precondition: the distance is at most furthest_entry.
inline std::array<std::uint8_t, jump_bytes> jump(std::uint64_t from, std::uint64_t to) {
  std::array<std::uint8_t, jump_bytes> code{0xE9};
  const auto distance = static_cast<std::uint32_t>(to - (from + jump_bytes));
  std::memcpy(&code[1], &distance, sizeof distance);
  return code;
}

}  // namespace heaplab::moving
