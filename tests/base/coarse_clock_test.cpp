#include "base/coarse_clock.h"

#include <gtest/gtest.h>

#include <chrono>

namespace heaplab {
namespace {

std::int64_t exact_milliseconds() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// The clock moves every few milliseconds: the loop ends, however slow the machine is.
TEST(coarse_clock, moves_on) {
  const std::int64_t begin = coarse_milliseconds();
  while (coarse_milliseconds() == begin) {
  }
  EXPECT_GT(coarse_milliseconds(), begin);
}

// Both clocks count from the same moment, and the coarse one never runs ahead.
TEST(coarse_clock, counts_the_milliseconds_of_the_steady_clock_and_stays_behind_it) {
  const std::int64_t before = exact_milliseconds();
  std::int64_t coarse = coarse_milliseconds();
  EXPECT_LE(coarse, exact_milliseconds());
  while (coarse < before) coarse = coarse_milliseconds();
  EXPECT_LE(coarse, exact_milliseconds());
}

}  // namespace
}  // namespace heaplab
