// Which blocks a tracer hears of: a sample by bytes, as jemalloc and tcmalloc take it. The distance to the
// next sample is exponentially distributed, so that every byte allocated has the same chance.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <ctime>

#include "base/atomic.h"

namespace heaplab::shim {

// The sampler of a thread; all zero at first.
class byte_sampler {
public:
  static constexpr std::uint64_t interval = std::uint64_t{512} << 10;  // mean, in bytes

  // The bytes that this allocation stands for: how many intervals end in it, in bytes; mostly 0.
  std::uint64_t weight_of(std::size_t size) {
    if (random_ == 0) begin();
    std::uint64_t weight = 0;
    for (; size >= left_; weight += interval) {
      size -= left_;
      left_ = next_distance();
    }
    left_ -= size;
    return weight;
  }

private:
  void begin() {
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    random_ = (reinterpret_cast<std::uint64_t>(this) ^ static_cast<std::uint64_t>(now.tv_nsec) << 20) | 1;
    left_ = next_distance();
  }

  // -ln(u) of a uniform u in (0, 1], times the interval.
  std::uint64_t next_distance() {
    random_ ^= random_ << 13;
    random_ ^= random_ >> 7;
    random_ ^= random_ << 17;
    const double uniform = static_cast<double>((random_ >> 11) + 1) * 0x1p-53;
    return static_cast<std::uint64_t>(-natural_logarithm(uniform) * interval) + 1;
  }

  // Exact to a millionth: ln((1 + t) / (1 - t)) is 2 t (1 + t^2 / 3 + t^4 / 5 ...). The mathematical library
  // would be one more library in each process.
  static double natural_logarithm(double of) {
    const auto bits = std::bit_cast<std::uint64_t>(of);
    const auto exponent = static_cast<double>(static_cast<int>(bits >> 52) - 1023);
    const auto mantissa = std::bit_cast<double>((bits & ((std::uint64_t{1} << 52) - 1)) | 0x3FF0000000000000);
    const double t = (mantissa - 1) / (mantissa + 1);
    const double s = t * t;
    return exponent * 0.69314718055994531 +
           2 * t * (1 + s * (1. / 3 + s * (1. / 5 + s * (1. / 7 + s * (1. / 9 + s / 11)))));
  }

  std::uint64_t random_ = 0;
  std::uint64_t left_ = 0;
};

// The sampled blocks that live, without a lock: a block is in one of a few places next to its hash. Where
// these are taken, the block is not sampled.
class sampled_blocks {
public:
  bool add(const void* block) {
    for (std::size_t step = 0; step < steps; ++step) {
      std::uint64_t none = 0;
      // relaxed: a block is freed by whoever has it from its allocation, which orders the two accesses.
      if (place(block, step)
              .compare_exchange_strong(none, number(block), std::memory_order_relaxed,
                                       std::memory_order_relaxed))
        return true;
    }
    return false;
  }

  // Whether the block was in the sample.
  bool remove(const void* block) {
    for (std::size_t step = 0; step < steps; ++step) {
      std::uint64_t here = number(block);
      if (place(block, step).load(std::memory_order_relaxed) == here &&
          place(block, step)
              .compare_exchange_strong(here, 0, std::memory_order_relaxed, std::memory_order_relaxed))
        return true;
    }
    return false;
  }

private:
  static constexpr std::size_t places = std::size_t{1} << 14;
  static constexpr std::size_t steps = 8;

  static std::uint64_t number(const void* block) { return reinterpret_cast<std::uint64_t>(block); }
  atomic<std::uint64_t>& place(const void* block, std::size_t step) {
    return all_[((number(block) * 0x9E3779B97F4A7C15ULL >> 40) + step) % places];
  }

  atomic<std::uint64_t> all_[places]{};
};

}  // namespace heaplab::shim
