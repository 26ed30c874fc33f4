// Instructions of AArch64 that tell a place by its distance, and reach far.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace heaplab::moving {

inline constexpr std::size_t jump_bytes = 4;
inline constexpr std::uint64_t furthest_entry = std::uint64_t{127} << 20;  // a jump reaches 128 MiB

namespace aarch64 {

using instruction = std::uint32_t;

inline constexpr instruction b = 0x14000000, bl = 0x94000000, adrp = 0x90000000;

// `bits` of an instruction from bit `at` on, with a sign.
constexpr std::int64_t number_in(instruction of, unsigned at, unsigned bits) {
  return static_cast<std::int64_t>(std::uint64_t{of} << (64 - bits - at)) >> (64 - bits);
}

constexpr bool is_branch(instruction of) {
  return (of & 0x7C000000) == b;  // b or bl
}

// The distance in an instruction that forms an address: bytes of adr, pages of adrp.
constexpr std::int64_t address_in(instruction of) {
  return number_in(of, 5, 19) * 4 | (of >> 29 & 3);
}

// Whether the number has that many bits, with a sign.
constexpr bool fits(std::int64_t number, unsigned bits) {
  return number >> (bits - 1) == 0 || number >> (bits - 1) == -1;
}

// An adrp has pages of 4 KiB, whatever the system's are.
constexpr std::int64_t pages_between(std::uint64_t from, std::uint64_t to) {
  return static_cast<std::int64_t>((to >> 12) - (from >> 12));
}

// A b, bl or adrp that stands at `from` and leads to `to`, or to its page; none: that is too far.
constexpr std::optional<instruction> aimed(instruction of, std::uint64_t from, std::uint64_t to) {
  if (is_branch(of)) {
    const auto words = static_cast<std::int64_t>(to - from) / 4;
    if (!fits(words, 26)) return {};
    return (of & 0xFC000000) | (static_cast<instruction>(words) & 0x03FFFFFF);
  }
  const std::int64_t pages = pages_between(from, to);
  if (!fits(pages, 21)) return {};
  const auto low = static_cast<instruction>(pages);
  return (of & 0x9F00001F) | (low & 3) << 29 | (low >> 2 & 0x7FFFF) << 5;
}

// The same instruction at another place.
constexpr std::optional<instruction> moved(instruction of, std::uint64_t from, std::uint64_t to) {
  const std::uint64_t target = is_branch(of)
                                   ? from + static_cast<std::uint64_t>(number_in(of, 0, 26) * 4)
                                   : ((from >> 12) + static_cast<std::uint64_t>(address_in(of))) << 12;
  return aimed(of, to, target);
}

}  // namespace aarch64

// Precondition: the distance is at most furthest_entry.
inline std::array<std::uint8_t, jump_bytes> jump(std::uint64_t from, std::uint64_t to) {
  const aarch64::instruction code = aarch64::aimed(aarch64::b, from, to).value_or(aarch64::b);
  return {static_cast<std::uint8_t>(code), static_cast<std::uint8_t>(code >> 8),
          static_cast<std::uint8_t>(code >> 16), static_cast<std::uint8_t>(code >> 24)};
}

}  // namespace heaplab::moving
