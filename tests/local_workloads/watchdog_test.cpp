#include "workloads/local/watchdog.h"

#include <gtest/gtest.h>

#include <csignal>

#include "workloads/local/watching.h"

namespace heaplab::strategies {
namespace {

using ::testing::ExitedWithCode;
using ::testing::KilledBySignal;

TEST(watchdog, turns_a_crash_into_a_failed_check) {
  for (const int crash : {SIGSEGV, SIGABRT, SIGFPE})
    EXPECT_EXIT(
        {
          const watchdog watching(60);
          ::raise(crash);
        },
        ExitedWithCode(1), "^self-check failed: .* without a crash\n$");
}

#if !defined(__SANITIZE_THREAD__)  // it delivers signals at calls alone, and there is none
TEST(watchdog, ends_a_walk_that_goes_round_in_circles) {
  EXPECT_EXIT(
      {
        const watchdog watching(1);
        for (volatile bool forever = true; forever;) {
        }
      },
      ExitedWithCode(1), "^self-check failed: .* in bounded time\n$");
}
#endif

TEST(watchdog, leaves_nothing_behind) {
  EXPECT_EXIT(
      {
        {
          const watchdog watching(1);
        }
        ::raise(SIGTERM);
      },
      KilledBySignal(SIGTERM), "^$");
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // they have handlers of their own
  EXPECT_EXIT(
      {
        {
          const watchdog watching(1);
        }
        ::raise(SIGSEGV);
      },
      KilledBySignal(SIGSEGV), "^$");
#endif
}

// A sound heap may use memory again as soon as it was given back.
TEST(watchdog, watching_resource_accepts_memory_that_is_used_again) {
  watching_resource memory;
  for (int round = 0; round < 100; ++round) {
    void* const first = memory.allocate(100, 8);
    void* const second = memory.allocate(1000, 64);
    memory.deallocate(first, 100, 8);
    memory.deallocate(second, 1000, 64);
  }
}

}  // namespace
}  // namespace heaplab::strategies
