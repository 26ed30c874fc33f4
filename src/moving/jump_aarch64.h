// Instructions of AArch64 that tell a place by its distance and reach far: b and bl, 128 MiB; adrp, 4 GiB.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <optional>

namespace heaplab::moving {

inline constexpr std::size_t jump_bytes = 4;
inline constexpr std::uint64_t furthest_entry = std::uint64_t{127} << 20;

namespace aarch64 {

using instruction = std::uint32_t;

inline constexpr instruction b = 0x14000000, bl = 0x94000000, adr = 0x10000000, adrp = 0x90000000;

constexpr bool is_branch(instruction code) {
  return (code & 0x7C000000) == b;  // b or bl
}

// `bits` from bit `at` on, with a sign.
constexpr std::int64_t number_in(instruction code, unsigned at, unsigned bits) {
  return static_cast<std::int64_t>(std::uint64_t{code} << (64 - bits - at)) >> (64 - bits);
}

// Of adr in bytes, of adrp in pages of 4 KiB, whatever those of the system are.
constexpr std::int64_t address_in(instruction code) {
  return number_in(code, 5, 19) * 4 | (code >> 29 & 3);
}

// The b, bl or adrp as it stands at `from` and leads to `to`, or its page; none: that is too far.
constexpr std::optional<instruction> aimed(instruction code, std::uint64_t from, std::uint64_t to) {
  const unsigned unit = is_branch(code) ? 2 : 12, bits = is_branch(code) ? 26 : 21;
  const auto distance = static_cast<std::int64_t>((to >> unit) - (from >> unit));
  if (distance >> (bits - 1) != distance >> 63) return {};
  const auto low = static_cast<instruction>(distance);
  if (is_branch(code)) return (code & 0xFC000000) | (low & 0x03FFFFFF);
  return (code & 0x9F00001F) | (low & 3) << 29 | (low >> 2 & 0x7FFFF) << 5;
}

// The same instruction at another place.
constexpr std::optional<instruction> moved(instruction code, std::uint64_t from, std::uint64_t to) {
  const unsigned unit = is_branch(code) ? 2 : 12;
  const std::int64_t distance = is_branch(code) ? number_in(code, 0, 26) : address_in(code);
  return aimed(code, to, ((from >> unit) + static_cast<std::uint64_t>(distance)) << unit);
}

}  // namespace aarch64

// Precondition: the distance is at most furthest_entry.
inline std::array<std::uint8_t, jump_bytes> jump(std::uint64_t from, std::uint64_t to) {
  return std::bit_cast<std::array<std::uint8_t, jump_bytes>>(*aarch64::aimed(aarch64::b, from, to));
}

}  // namespace heaplab::moving
