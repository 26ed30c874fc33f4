// Counts of short times in logarithmic buckets. Recording takes constant time and space and allocates
// nothing.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "base/bits.h"

namespace heaplab::probes {

// Every power of two is divided into 32 buckets, so that a value read back is at most 1/32 too small. One
// thread writes a histogram; histograms are merged afterwards.
class latency_histogram {
public:
  void record(std::uint64_t ticks) {
    ++buckets_[bucket_of(ticks)];
    ++count_;
    largest_ = std::max(largest_, ticks);
  }

  void merge(const latency_histogram& other) {
    for (std::size_t bucket = 0; bucket < buckets; ++bucket) buckets_[bucket] += other.buckets_[bucket];
    count_ += other.count_;
    largest_ = std::max(largest_, other.largest_);
  }

  std::uint64_t count() const { return count_; }
  std::uint64_t largest() const { return largest_; }

  // The value below which `fraction` (0 to 1) of all values lie; 0 for an empty histogram. `step` is the
  // step of the clock in ticks: a time of 1.4 steps is read as one step or as two, and only the share of each
  // tells that it was 1.4. So the values of a bucket are taken to be spread evenly over one step around them,
  // or over the bucket where that is wider.
  double quantile(double fraction, std::uint64_t step = 1) const {
    const double rank = fraction * static_cast<double>(count_);
    double below = 0;
    for (std::size_t bucket = 0; bucket < buckets; ++bucket) {
      const auto inside = static_cast<double>(buckets_[bucket]);
      if (inside != 0 && below + inside >= rank) {
        const auto largest = static_cast<double>(largest_);
        return std::clamp(spread(bucket, step, (rank - below) / inside), 0.0, largest);
      }
      below += inside;
    }
    return 0;
  }

private:
  static constexpr unsigned fine_bits = 5;
  static constexpr std::size_t fine = std::size_t{1} << fine_bits;
  static constexpr std::size_t buckets = (64 - fine_bits + 1) * fine;

  // Values below `fine` have a bucket each. For larger values, the highest set bit chooses the group, and the
  // next bits choose the bucket.
  static constexpr std::size_t bucket_of(std::uint64_t value) {
    if (value < fine) return value;
    const unsigned shift = log2_floor(value) - fine_bits;
    return (std::size_t{shift} + 1) * fine + ((value >> shift) - fine);
  }

  static constexpr std::uint64_t smallest_in(std::size_t bucket) {
    if (bucket < fine) return bucket;
    const unsigned shift = static_cast<unsigned>(bucket / fine) - 1;
    return (fine + bucket % fine) << shift;
  }

  // The value at `part` (0 to 1) of the stretch over which the values of a bucket are spread.
  static double spread(std::size_t bucket, std::uint64_t step, double part) {
    const auto smallest = static_cast<double>(smallest_in(bucket));
    const auto width = static_cast<double>(width_of(bucket));
    const auto clock_step = static_cast<double>(step);
    return width > clock_step ? smallest + width * part : smallest + clock_step * (part - 0.5);
  }

  static constexpr std::uint64_t width_of(std::size_t bucket) {
    return bucket < fine ? 1 : std::uint64_t{1} << (bucket / fine - 1);
  }

  std::array<std::uint64_t, buckets> buckets_{};
  std::uint64_t count_ = 0;
  std::uint64_t largest_ = 0;
};

}  // namespace heaplab::probes
