#include "probes/latency_histogram.h"

#include <gtest/gtest.h>

#include <limits>

namespace heaplab::probes {
namespace {

TEST(latency_histogram, is_empty_at_first) {
  const latency_histogram histogram;
  EXPECT_EQ(histogram.count(), 0U);
  EXPECT_EQ(histogram.quantile(0.5), 0);
}

TEST(latency_histogram, keeps_small_values_exactly) {
  for (std::uint64_t value = 0; value < 64; ++value) {
    latency_histogram histogram;
    histogram.record(value);
    EXPECT_EQ(histogram.quantile(0.5), static_cast<double>(value));
  }
}

TEST(latency_histogram, errs_by_less_than_one_in32) {
  for (std::uint64_t value = 1; value < std::numeric_limits<std::uint64_t>::max() / 3;
       value = value * 3 + 1) {
    latency_histogram histogram;
    histogram.record(value);
    const auto exact = static_cast<double>(value);
    EXPECT_LE(histogram.quantile(0.5), exact * (1 + 1.0 / 32));
    EXPECT_GE(histogram.quantile(0.5), exact * (1 - 1.0 / 32));
  }
}

TEST(latency_histogram, holds_the_largest_number) {
  latency_histogram histogram;
  histogram.record(std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(histogram.largest(), std::numeric_limits<std::uint64_t>::max());
  EXPECT_GE(histogram.quantile(1), 0x1p63);
}

TEST(latency_histogram, finds_quantiles) {
  latency_histogram histogram;
  for (std::uint64_t value = 1; value <= 30; ++value) histogram.record(value);
  EXPECT_EQ(histogram.quantile(0), 0.5);
  EXPECT_EQ(histogram.quantile(0.5), 15.5);
  EXPECT_EQ(histogram.quantile(0.9), 27.5);
  EXPECT_EQ(histogram.quantile(1), 30);
}

// A clock that counts in steps of 26 ticks reads every time as a multiple of 26, at any phase of the clock.
TEST(latency_histogram, finds_times_between_two_steps_of_the_clock) {
  constexpr std::uint64_t step = 26;
  for (std::uint64_t time = 5; time < 100; ++time) {
    latency_histogram histogram;
    for (std::uint64_t begin = 0; begin < step; ++begin)
      histogram.record((begin + time) / step * step - begin / step * step);
    EXPECT_NEAR(histogram.quantile(0.5, step), static_cast<double>(time), step / 10.0);
  }
}

TEST(latency_histogram, finds_nothing_below_zero_or_above_the_largest_value) {
  latency_histogram histogram;
  histogram.record(0);
  histogram.record(100);
  EXPECT_EQ(histogram.quantile(0, 26), 0);
  EXPECT_EQ(histogram.quantile(1, 26), 100);
}

TEST(latency_histogram, merges) {
  latency_histogram histogram, other;
  histogram.record(10);
  other.record(20);
  other.record(1000);
  histogram.merge(other);
  EXPECT_EQ(histogram.count(), 3U);
  EXPECT_EQ(histogram.largest(), 1000U);
  EXPECT_EQ(histogram.quantile(0.5), 20);
}

}  // namespace
}  // namespace heaplab::probes
