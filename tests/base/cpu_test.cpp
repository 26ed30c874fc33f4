#include "base/cpu.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <thread>

namespace heaplab {
namespace {

// In a thread of its own, whose affinity may be changed.
unsigned usable_cpus_on(const cpu_set_t& set) {
  unsigned result = 0;
  std::thread([&] {
    EXPECT_EQ(sched_setaffinity(0, sizeof set, &set), 0);
    result = usable_cpus();
  }).join();
  return result;
}

TEST(cpu, counts_the_cpus_the_thread_may_run_on) {
  cpu_set_t all;
  ASSERT_EQ(sched_getaffinity(0, sizeof all, &all), 0);
  EXPECT_EQ(usable_cpus(), static_cast<unsigned>(CPU_COUNT(&all)));
  int first = 0;
  while (!CPU_ISSET(first, &all)) ++first;
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(first, &one);
  EXPECT_EQ(usable_cpus_on(one), 1U);
}

}  // namespace
}  // namespace heaplab
