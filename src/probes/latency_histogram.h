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

  // The smallest value of the bucket in which the cumulative count reaches `fraction` (0 to 1) of all values;
  // 0 for an empty histogram.
  std::uint64_t quantile(double fraction) const {
    const auto rank = static_cast<std::uint64_t>(fraction * static_cast<double>(count_));
    std::uint64_t seen = 0;
    for (std::size_t bucket = 0; bucket < buckets; ++bucket) {
      seen += buckets_[bucket];
      if (seen != 0 && seen >= std::max<std::uint64_t>(rank, 1)) return smallest_in(bucket);
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

  std::array<std::uint64_t, buckets> buckets_{};
  std::uint64_t count_ = 0;
  std::uint64_t largest_ = 0;
};

}  // namespace heaplab::probes
