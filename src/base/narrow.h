// How a number becomes one of a narrower type: by a function whose name says what becomes of the bits that do
// not fit. The distance of two addresses has 64 bits, however small the spans of a heap are. So in
// src/allocators and src/concurrent clang-tidy refuses a cast that would cut one
// (src/allocators/.clang-tidy).
#pragma once

#include <concepts>
#include <utility>

#include "base/assertion.h"

namespace heaplab {

// Precondition: the value is one of the narrower type.
template <std::integral Narrow, std::integral Wide>
constexpr Narrow narrow(Wide value) {
  HEAPLAB_ASSERT(std::in_range<Narrow>(value));
  return static_cast<Narrow>(value);
}

// The lowest bits of the value; the others do not matter, as in a hash or a random number.
template <std::unsigned_integral Narrow, std::integral Wide>
constexpr Narrow low_bits(Wide value) {
  return static_cast<Narrow>(value);
}

}  // namespace heaplab
