#pragma once

#include <cstdint>

namespace heaplab::acdc {

// The minimal standard generator of Park and Miller (a = 16807, m = 2^31 - 1), which the program of 2013
// used. The seed is 1 to 2^31 - 2, because 0 is a fixed point.
class original_random {
public:
  explicit original_random(std::uint64_t seed) : state_(seed) {}

  // Uniform up to the bias of the remainder, as in the original; both ends included.
  std::uint64_t between(std::uint64_t least, std::uint64_t most) {
    state_ = state_ * 16807 % 2147483647;
    return least + state_ % (most - least + 1);
  }

private:
  std::uint64_t state_;
};

}  // namespace heaplab::acdc
