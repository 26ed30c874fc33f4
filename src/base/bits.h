#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

namespace heaplab {

// Without std::has_single_bit, which is a call where the processor may have no instruction that counts bits.
constexpr bool is_power_of_two(std::size_t value) {
  return value != 0 && (value & (value - 1)) == 0;
}

// Position of the highest set bit; value > 0.
constexpr unsigned log2_floor(std::size_t value) {
  return static_cast<unsigned>(std::bit_width(value)) - 1;
}

// `alignment` is a power of two. The result wraps to a small number if `value` is within `alignment` of the
// largest number; callers bound `value` first.
constexpr std::size_t align_up(std::size_t value, std::size_t alignment) {
  return (value + alignment - 1) & ~(alignment - 1);
}

constexpr std::size_t align_down(std::size_t value, std::size_t alignment) {
  return value & ~(alignment - 1);
}

inline bool is_aligned(const void* address, std::size_t alignment) {
  return (reinterpret_cast<std::uintptr_t>(address) & (alignment - 1)) == 0;
}

}  // namespace heaplab
