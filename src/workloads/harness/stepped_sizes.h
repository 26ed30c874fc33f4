#pragma once

#include <cstdint>
#include <span>

#include "workloads/harness/option_table.h"
#include "workloads/harness/random_stream.h"
#include "workloads/harness/size_mix.h"

namespace heaplab::harness {

// The relative frequency of each size in a sequence of sizes, by its position k = 1, 2, ..., or by the size
// itself.
enum class size_distribution {
  uniform,     // all sizes alike
  geometric,   // 2^-k
  log_series,  // 0.9^k / k: the logarithmic series of Fisher, Corbet and Williams (1943)
  falling,     // falls by the same amount from each size to the next, to zero after the largest
  fisher_f,    // density at k of Fisher's F with 1 and 1 degrees of freedom: 1 / (sqrt(k) (1 + k))
  doublings,   // 1 / size: each doubling of the size as often as the next
  power_law,   // 1 / size^2: each doubling half as often as the one before
};

// The sizes --min-size, --min-size + --step, ... up to --max-size, in bytes, drawn at random.
class stepped_sizes {
public:
  stepped_sizes() = default;
  // The defaults of a workload's own.
  stepped_sizes(const size_mix& bounds, std::uint64_t step, size_distribution distribution)
      : least_(bounds.least), most_(bounds.most), step_(step), distribution_(distribution) {}

  // Declares --min-size, --max-size, --step and --distribution.
  void declare(option_table& options);

  // Throws usage_error.
  void check() const;

  size_mix bounds() const { return {least_, largest()}; }
  double mean() const;

  // Fills `sizes` with random sizes. Does not use the heap under test.
  void draw(std::span<std::uint32_t> sizes, random_stream random) const;

private:
  std::uint64_t count() const { return (most_ - least_) / step_ + 1; }
  std::uint64_t size_at(std::uint64_t place) const { return least_ + (place - 1) * step_; }
  std::uint64_t largest() const { return size_at(count()); }
  double weight(std::uint64_t place) const;

  std::uint64_t least_ = 50;
  std::uint64_t most_ = 500;
  std::uint64_t step_ = 50;
  size_distribution distribution_ = size_distribution::log_series;
};

// Sizes drawn before the clock starts and used in turn, again and again: a size costs one load from the
// first-level cache, whatever the distribution.
class size_cycle {
public:
  static constexpr std::size_t length = 4096;  // a power of two; 16 KiB

  // `sizes` has `length` elements.
  explicit size_cycle(std::span<const std::uint32_t> sizes) : sizes_(sizes.data()) {}

  std::uint32_t next() { return sizes_[at_++ % length]; }

private:
  const std::uint32_t* sizes_;
  std::size_t at_ = 0;
};

}  // namespace heaplab::harness
