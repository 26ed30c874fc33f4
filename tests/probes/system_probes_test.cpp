#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cstddef>

#include "probes/machine_memory.h"
#include "probes/off_heap_pages.h"
#include "probes/perf_counters.h"
#include "probes/resource_usage.h"
#include "probes/tick_clock.h"

namespace heaplab::probes {
namespace {

TEST(system_probes, resource_usage_counts_faults_and_time) {
  const resource_usage before = resource_usage::now();
  off_heap_pages pages(std::size_t{8} << 20);
  const std::uint64_t end = monotonic_nanoseconds() + 20'000'000;
  while (monotonic_nanoseconds() < end) {
  }
  const resource_usage used = resource_usage::now() - before;
  EXPECT_GT(used.user_s + used.system_s, 0);
  EXPECT_LT(used.user_s + used.system_s, 10);
  EXPECT_EQ(used.major_faults, 0U);
}

// A machine without counters must say so, not report zeros.
TEST(system_probes, perf_counters_are_absent_or_count) {
  perf_counters counters;
  counters.start();
  volatile unsigned work = 0;
  for (unsigned i = 0; i < 1'000'000; ++i) work = work + i;
  counters.stop();
  EXPECT_STREQ(perf_counters::names[0], "instructions");
  if (const auto instructions = counters.count(0)) {
    EXPECT_GT(*instructions, 1e6);
  }
}

TEST(system_probes, perf_counters_are_absent_before_they_ran) {
  const perf_counters counters;
  for (std::size_t i = 0; i < perf_counters::names.size(); ++i) EXPECT_EQ(counters.count(i), std::nullopt);
}

TEST(system_probes, machine_memory_keeps_to_the_limit_of_the_process) {
  const std::uint64_t free = available_memory();
  EXPECT_GT(free, std::uint64_t{1} << 20);
  rlimit before;
  getrlimit(RLIMIT_DATA, &before);
  const rlimit small{.rlim_cur = std::size_t{1} << 20, .rlim_max = before.rlim_max};
  setrlimit(RLIMIT_DATA, &small);
  EXPECT_EQ(available_memory(), std::uint64_t{1} << 20);
  setrlimit(RLIMIT_DATA, &before);
}

}  // namespace
}  // namespace heaplab::probes
