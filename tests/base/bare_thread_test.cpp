#include "base/bare_thread.h"

#include <gtest/gtest.h>
#include <sys/single_threaded.h>

#include <cerrno>
#include <csignal>
#include <fstream>
#include <string>
#include <thread>

namespace heaplab {
namespace {

// What the thread of a test does and what the test sees of that.
struct record {
  atomic<int> calls{0};
  atomic<int> errno_at_begin{-1};
  atomic<std::uint64_t> blocked{0};
  atomic<bool> may_end{true};
};

// relaxed: the tests wait for the thread's end, or for the number alone.
int run(void* argument) {
  auto& it = *static_cast<record*>(argument);
  it.errno_at_begin.store(errno, std::memory_order_relaxed);
  errno = E2BIG;
  std::uint64_t mask = 0;
  ::syscall(SYS_rt_sigprocmask, SIG_BLOCK, nullptr, &mask, sizeof mask);
  it.blocked.store(mask, std::memory_order_relaxed);
  while (!it.may_end.load(std::memory_order_relaxed)) ::syscall(SYS_sched_yield);
  it.calls.fetch_add(1, std::memory_order_relaxed);
  return 0;
}

int run_nothing(void*) {
  return 0;
}

// The thread has ended when another can be started.
void wait_for_end(bare_thread& it) {
  while (!it.start(run_nothing, nullptr)) std::this_thread::yield();
}

unsigned threads_of_the_process() {
  std::ifstream status("/proc/self/status");
  std::string word;
  unsigned count = 0;
  while (status >> word)
    if (word == "Threads:") status >> count;
  return count;
}

TEST(bare_thread, runs_its_function_again_and_again) {
  static record seen;
  static bare_thread it;
  for (int round = 0; round < 1000; ++round)
    while (!it.start(run, &seen)) std::this_thread::yield();
  wait_for_end(it);
  EXPECT_EQ(seen.calls.load(std::memory_order_relaxed), 1000);
}

TEST(bare_thread, has_an_errno_of_its_own) {
  static record seen;
  static bare_thread it;
  errno = ENOTTY;
  ASSERT_TRUE(it.start(run, &seen));
  wait_for_end(it);
  EXPECT_EQ(errno, ENOTTY);
  EXPECT_EQ(seen.errno_at_begin.load(std::memory_order_relaxed), 0);
}

TEST(bare_thread, is_disturbed_by_no_signal_and_leaves_those_of_its_maker) {
  static record seen;
  static bare_thread it;
  sigset_t before, after;
  pthread_sigmask(SIG_BLOCK, nullptr, &before);
  ASSERT_TRUE(it.start(run, &seen));
  wait_for_end(it);
  constexpr std::uint64_t never_blocked = (1U << (SIGKILL - 1)) | (1U << (SIGSTOP - 1));
  EXPECT_EQ(seen.blocked.load(std::memory_order_relaxed), ~never_blocked);
  pthread_sigmask(SIG_BLOCK, nullptr, &after);
  for (int number = 1; number < SIGRTMAX; ++number)
    EXPECT_EQ(sigismember(&before, number), sigismember(&after, number)) << number;
}

TEST(bare_thread, is_one_at_a_time_and_no_second_thread_of_the_program) {
  static record seen;
  static bare_thread it;
  const unsigned before = threads_of_the_process();
  const bool was_single = __libc_single_threaded != 0;
  seen.may_end.store(false, std::memory_order_relaxed);
  ASSERT_TRUE(it.start(run, &seen));
  EXPECT_FALSE(it.start(run, &seen));
  EXPECT_EQ(threads_of_the_process(), before + 1);
  EXPECT_EQ(__libc_single_threaded != 0, was_single);
  seen.may_end.store(true, std::memory_order_relaxed);
  wait_for_end(it);
  EXPECT_EQ(seen.calls.load(std::memory_order_relaxed), 1);
}

TEST(bare_thread, outlives_the_thread_that_started_it) {
  static record seen;
  static bare_thread it;
  seen.may_end.store(false, std::memory_order_relaxed);
  std::thread([] { EXPECT_TRUE(it.start(run, &seen)); }).join();
  seen.may_end.store(true, std::memory_order_relaxed);
  wait_for_end(it);
  EXPECT_EQ(seen.calls.load(std::memory_order_relaxed), 1);
}

}  // namespace
}  // namespace heaplab
