#include "probes/thread_team.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <atomic>
#include <system_error>

namespace heaplab::probes {
namespace {

class recording_task final : public team_task {
public:
  explicit recording_task(unsigned count) : count_(count) {}

  void prepare(unsigned thread) override {
    if (thread == 0) caller = pthread_self();
    ++prepared;
  }
  void started() override { in_order = in_order && prepared == count_ && ran == 0; }
  void run(unsigned thread) override {
    seen |= 1U << thread;
    ++ran;
  }
  void finished() override { in_order = in_order && ran == count_; }

  std::atomic<unsigned> prepared{0}, ran{0}, seen{0};
  bool in_order = true;
  pthread_t caller{};

private:
  unsigned count_;
};

TEST(thread_team, runs_every_thread_between_start_and_finish) {
  for (const unsigned count : {1U, 2U, 7U}) {
    recording_task task(count);
    run_team(count, task);
    EXPECT_EQ(task.ran, count);
    EXPECT_EQ(task.seen, (1U << count) - 1);
    EXPECT_TRUE(task.in_order);
  }
}

TEST(thread_team, has_the_caller_as_thread_zero) {
  recording_task task(3);
  run_team(3, task);
  EXPECT_TRUE(pthread_equal(task.caller, pthread_self()));
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // their shadow memory exceeds any limit
// A refused thread must not leave the others waiting.
TEST(thread_team, gives_up_when_a_thread_is_refused) {
  rlimit before;
  getrlimit(RLIMIT_AS, &before);
  const rlimit small{.rlim_cur = std::size_t{1} << 29, .rlim_max = before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_AS, &small), 0);
  recording_task task(1000);
  bool refused = false;
  try {
    run_team(1000, task);
  } catch (const std::system_error&) {
    refused = true;
  }
  setrlimit(RLIMIT_AS, &before);
  EXPECT_TRUE(refused);
  EXPECT_EQ(task.ran, 0U);
}
#endif

}  // namespace
}  // namespace heaplab::probes
