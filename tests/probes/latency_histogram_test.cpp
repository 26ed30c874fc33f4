#include "probes/latency_histogram.h"

#include <gtest/gtest.h>

#include <limits>

namespace heaplab::probes {
namespace {

TEST(latency_histogram, is_empty_at_first) {
  const latency_histogram histogram;
  EXPECT_EQ(histogram.count(), 0U);
  EXPECT_EQ(histogram.quantile(0.5), 0U);
}

TEST(latency_histogram, keeps_small_values_exactly) {
  for (std::uint64_t value = 0; value < 64; ++value) {
    latency_histogram histogram;
    histogram.record(value);
    EXPECT_EQ(histogram.quantile(0.5), value);
  }
}

TEST(latency_histogram, errs_by_less_than_one_in32) {
  for (std::uint64_t value = 1; value < std::numeric_limits<std::uint64_t>::max() / 3;
       value = value * 3 + 1) {
    latency_histogram histogram;
    histogram.record(value);
    EXPECT_LE(histogram.quantile(1), value);
    EXPECT_GT(histogram.quantile(1), value - value / 32 - 1);
  }
}

TEST(latency_histogram, holds_the_largest_number) {
  latency_histogram histogram;
  histogram.record(std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(histogram.largest(), std::numeric_limits<std::uint64_t>::max());
  EXPECT_GE(histogram.quantile(1), std::uint64_t{1} << 63);
}

TEST(latency_histogram, finds_quantiles) {
  latency_histogram histogram;
  for (std::uint64_t value = 1; value <= 30; ++value) histogram.record(value);
  EXPECT_EQ(histogram.quantile(0), 1U);
  EXPECT_EQ(histogram.quantile(0.5), 15U);
  EXPECT_EQ(histogram.quantile(0.9), 27U);
  EXPECT_EQ(histogram.quantile(1), 30U);
}

TEST(latency_histogram, merges) {
  latency_histogram one, other;
  one.record(10);
  other.record(20);
  other.record(1000);
  one.merge(other);
  EXPECT_EQ(one.count(), 3U);
  EXPECT_EQ(one.largest(), 1000U);
  EXPECT_EQ(one.quantile(0.67), 20U);
}

}  // namespace
}  // namespace heaplab::probes
