// Blocks of memory for tests of allocators.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "base/assertion.h"

namespace heaplab::testing {

// Hides a value from the compiler, which would otherwise warn about the calls under test or optimise them
// away.
template <class Value>
Value opaque(Value value) {
  asm volatile("" : "+r"(value));
  return value;
}

struct freer {
  void operator()(void* block) const { std::free(block); }
};
using block = std::unique_ptr<void, freer>;

inline bool aligned(const void* address, std::size_t alignment) {
  HEAPLAB_ASSERT(alignment > 0);
  return reinterpret_cast<std::uintptr_t>(address) % alignment == 0;
}

inline unsigned char pattern_at(std::size_t index, unsigned seed) {
  return static_cast<unsigned char>(seed * std::size_t{31} + index * 7 + (index >> 8));
}

inline void fill(void* memory, std::size_t size, unsigned seed) {
  for (std::size_t i = 0; i < size; ++i) static_cast<unsigned char*>(memory)[i] = pattern_at(i, seed);
}

// True if `memory` holds the pattern that fill wrote.
inline bool holds(const void* memory, std::size_t size, unsigned seed) {
  for (std::size_t i = 0; i < size; ++i)
    if (static_cast<const unsigned char*>(memory)[i] != pattern_at(i, seed)) return false;
  return true;
}

inline bool is_zero(const void* memory, std::size_t size) {
  const auto* const bytes = static_cast<const unsigned char*>(memory);
  return size == 0 || (bytes[0] == 0 && std::memcmp(bytes, bytes + 1, size - 1) == 0);
}

}  // namespace heaplab::testing
