// Arithmetic of addresses and alignments.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

namespace heaplab::local {

// The alignment that every source gives a request that names none.
inline constexpr std::size_t maximum_alignment = alignof(std::max_align_t);

// The size of the largest object. A larger request is refused before anything is added to its size, so that
// no sum overflows.
inline constexpr std::size_t maximum_size = PTRDIFF_MAX;

// The smallest multiple of `alignment`, a power of two, that is at least `value`. The behavior is undefined
// if that multiple does not fit into std::size_t.
constexpr std::size_t align_up(std::size_t value, std::size_t alignment) {
  return (value + alignment - 1) & ~(alignment - 1);
}

// Bytes from `address` to the next multiple of `alignment`, a power of two.
inline std::size_t padding_to(const void* address, std::size_t alignment) {
  return (0 - reinterpret_cast<std::uintptr_t>(address)) & (alignment - 1);
}

// The largest power of two that divides `value`; value > 0.
constexpr std::size_t lowest_bit(std::size_t value) {
  return value & (0 - value);
}

}  // namespace heaplab::local
