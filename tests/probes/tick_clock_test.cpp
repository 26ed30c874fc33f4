#include "probes/tick_clock.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <string>

namespace heaplab::probes {
namespace {

std::uint64_t wait_ns(std::uint64_t ns) {
  const std::uint64_t begin = monotonic_nanoseconds();
  while (monotonic_nanoseconds() < begin + ns) {
  }
  return begin;
}

// Whatever the source, a stretch of time between two readings of the system clock lies between them.
void expect_agreement(const tick_clock& clock) {
  const std::uint64_t outer = monotonic_nanoseconds();
  const std::uint64_t begin = read_ticks();
  const std::uint64_t inner = wait_ns(20'000'000);
  const double at_least = static_cast<double>(monotonic_nanoseconds() - inner) * 1e-9;
  const double measured = clock.seconds(read_ticks() - begin);
  const double at_most = static_cast<double>(monotonic_nanoseconds() - outer) * 1e-9;
  EXPECT_GE(measured, at_least * 0.999);
  EXPECT_LE(measured, at_most * 1.001);
}

TEST(tick_clock, agrees_with_the_system_clock) {
  const tick_clock clock = tick_clock::calibrate();
  expect_agreement(clock);
  EXPECT_GT(clock.empty_interval(), 0);
}

TEST(tick_clock, knows_its_step) {
  const tick_clock clock = tick_clock::calibrate();
  EXPECT_GE(clock.step(), 1U);
  EXPECT_LT(clock.seconds(clock.step()), 1e-6);
  std::uint64_t shortest = ~std::uint64_t{0};
  for (int i = 0; i < 1000; ++i) {
    const std::uint64_t begin = read_ticks();
    if (const std::uint64_t interval = read_ticks() - begin; interval != 0)
      shortest = std::min(shortest, interval);
  }
  EXPECT_LE(clock.step(), shortest + shortest / 2);
}

TEST(tick_clock, subtracts_the_time_of_stamps) {
  const tick_clock clock = tick_clock::calibrate(clock_source::monotonic);
  EXPECT_EQ(clock.seconds_without_stamps(clock.empty_interval()), 0);
  EXPECT_EQ(clock.seconds_without_stamps(0, 3), 0);
  EXPECT_NEAR(clock.seconds_without_stamps(1000 + 3 * clock.empty_interval(), 3), 1e-6, 1e-12);
}

TEST(tick_clock, falls_back_to_nanoseconds) {
  const tick_clock clock = tick_clock::calibrate(clock_source::monotonic);
  EXPECT_EQ(clock.source(), clock_source::monotonic);
  EXPECT_EQ(clock.ticks_per_second(), 1e9);
  expect_agreement(clock);
}

TEST(tick_clock, uses_the_source_of_the_last_calibration) {
  tick_clock::calibrate(clock_source::monotonic);
  EXPECT_EQ(ticks_come_from, clock_source::monotonic);
  const tick_clock clock = tick_clock::calibrate();
  EXPECT_EQ(ticks_come_from, clock.source());
}

TEST(tick_clock, knows_the_cost_of_a_stamp) {
  const tick_clock clock = tick_clock::calibrate();
  EXPECT_LT(clock.seconds(clock.empty_interval()), 10e-6);
}

// Like a process that was stopped for a second between two readings.
TEST(tick_clock, leaves_out_the_pauses_of_a_process_that_takes_turns) {
  const int file = memfd_create("pauses", 0);
  ASSERT_EQ(ftruncate(file, sizeof(std::uint64_t)), 0);
  void* const page = mmap(nullptr, sizeof(std::uint64_t), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  ASSERT_NE(page, MAP_FAILED);
  setenv("HEAPLAB_PAUSED", std::to_string(file).c_str(), 1);
  const tick_clock clock = tick_clock::calibrate();
  unsetenv("HEAPLAB_PAUSED");
  EXPECT_EQ(clock.source(), clock_source::monotonic);
  constexpr std::uint64_t second = 1'000'000'000;
  const std::uint64_t outer = monotonic_nanoseconds();
  const std::uint64_t before = read_ticks();
  wait_ns(20'000'000);
  *static_cast<volatile std::uint64_t*>(page) = second;
  const std::uint64_t shown = read_ticks() - (before - second);
  EXPECT_GE(shown, 20'000'000U);
  EXPECT_LE(shown, monotonic_nanoseconds() - outer);
  paused_ns = &never_paused;
  munmap(page, sizeof(std::uint64_t));
  close(file);
}

}  // namespace
}  // namespace heaplab::probes
