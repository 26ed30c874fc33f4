// CRC-32 as zlib, gzip and PNG compute it (polynomial 0xEDB88320, reflected), so that a program in any
// language can check it.
#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace heaplab::trace {

namespace detail {

constexpr std::array<std::uint32_t, 256> crc32_table = [] {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t value = byte;
    for (int bit = 0; bit < 8; ++bit) value = (value >> 1) ^ ((value & 1) != 0 ? 0xEDB88320U : 0U);
    table[byte] = value;
  }
  return table;
}();

}  // namespace detail

constexpr std::uint32_t crc32(std::span<const std::uint8_t> of) {
  std::uint32_t value = ~std::uint32_t{0};
  for (const std::uint8_t byte : of) value = (value >> 8) ^ detail::crc32_table[(value ^ byte) & 0xFF];
  return ~value;
}

}  // namespace heaplab::trace
