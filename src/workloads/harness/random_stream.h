#pragma once

#include <cstdint>

#include "base/assertion.h"

namespace heaplab::harness {

// A random sequence that is the same on every machine: xorshift128+, seeded by splitmix64. Its statistical
// quality is more than a workload needs, and a number takes a few instructions. Streams with the same seed
// are independent for practical purposes: each thread uses its own stream.
class random_stream {
public:
  explicit random_stream(std::uint64_t seed, std::uint64_t stream = 0) {
    const std::uint64_t state = mix(seed) + 2 * stream * golden;
    first_ = mix(state + golden);
    second_ = mix(state + 2 * golden) | 1;  // at least one of the two words must not be 0
  }

  std::uint64_t next() {
    std::uint64_t x = first_;
    const std::uint64_t y = second_;
    first_ = y;
    x ^= x << 23;
    second_ = x ^ y ^ (x >> 17) ^ (y >> 26);
    return second_ + y;
  }

  // Uniform in [0, bound); bound > 0. The bias is below bound / 2^64.
  std::uint64_t below(std::uint64_t bound) {
    HEAPLAB_ASSERT(bound > 0);
    return static_cast<std::uint64_t>((wide(next()) * bound) >> 64);
  }

  // Uniform in [least, most], both included.
  std::uint64_t between(std::uint64_t least, std::uint64_t most) {
    HEAPLAB_ASSERT(least <= most);
    const std::uint64_t width = most - least + 1;
    return width == 0 ? next() : least + below(width);
  }

  // Uniform in [0, 1).
  double fraction() { return static_cast<double>(next() >> 11) * 0x1p-53; }

  // True with a probability of `percent` / 100: never for 0, always for 100.
  bool chance(double percent) { return fraction() * 100 < percent; }

private:
  __extension__ using wide = unsigned __int128;

  static constexpr std::uint64_t golden = 0x9e3779b97f4a7c15U;

  static std::uint64_t mix(std::uint64_t z) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31);
  }

  std::uint64_t first_;
  std::uint64_t second_;
};

}  // namespace heaplab::harness
