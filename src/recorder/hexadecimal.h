#pragma once

#include <cstdint>

namespace heaplab::recorder {

inline constexpr char hexadecimal_digits[] = "0123456789abcdef";

// Writes 16 digits and returns what follows them.
inline char* add_hex(char* to, std::uint64_t number) {
  for (int shift = 60; shift >= 0; shift -= 4) *to++ = hexadecimal_digits[number >> shift & 15];
  return to;
}

}  // namespace heaplab::recorder
