#pragma once

#include <cstdint>

namespace heaplab::probes {

// Samples one event in `mean_gap` on average. The gaps vary (uniform from 1 to 2*mean_gap-1), so that a
// period of the program, such as a cache refilled every 64 objects, is neither always nor never sampled.
class sampling {
public:
  static constexpr std::uint32_t mean_gap = 64;  // a power of two

  explicit sampling(std::uint64_t seed = 1) : state_(seed * 2 + 1) { draw(); }

  // True for the sampled events.
  bool next() {
    if (--left_ != 0) [[likely]]
      return false;
    draw();
    return true;
  }

private:
  void draw() {
    // A multiplicative congruential step; its high bits are random enough to break up periods.
    state_ = state_ * 6364136223846793005U;
    constexpr std::uint32_t gaps = 2 * mean_gap - 1;
    left_ = 1 + static_cast<std::uint32_t>(((state_ >> 32) * gaps) >> 32);
  }

  std::uint64_t state_;
  std::uint32_t left_ = 1;
};

}  // namespace heaplab::probes
