#pragma once

#include <array>
#include <bit>
#include <cstdint>

namespace heaplab {

// SipHash-1-3 (Aumasson, Bernstein) of one 64-bit number: who does not know the key cannot tell the result
// from a random number, also knowing the results of other numbers.
constexpr std::uint64_t keyed_hash(const std::array<std::uint64_t, 2>& key, std::uint64_t number) {
  std::uint64_t a = key[0] ^ 0x736f'6d65'7073'6575U, b = key[1] ^ 0x646f'7261'6e64'6f6dU;
  std::uint64_t c = key[0] ^ 0x6c79'6765'6e65'7261U, d = key[1] ^ 0x7465'6462'7974'6573U;
  const auto round = [&] {
    a += b, c += d;
    b = std::rotl(b, 13) ^ a, d = std::rotl(d, 16) ^ c;
    a = std::rotl(a, 32);
    c += b, a += d;
    b = std::rotl(b, 17) ^ c, d = std::rotl(d, 21) ^ a;
    c = std::rotl(c, 32);
  };
  constexpr std::uint64_t length_block = std::uint64_t{sizeof number} << 56;
  for (const std::uint64_t word : {number, length_block}) {
    d ^= word;
    round();
    a ^= word;
  }
  c ^= 0xff;
  for (unsigned turn = 0; turn < 3; ++turn) round();
  return a ^ b ^ c ^ d;
}

}  // namespace heaplab
