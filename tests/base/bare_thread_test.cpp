#include "base/bare_thread.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
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
  auto& seen = *static_cast<record*>(argument);
  seen.errno_at_begin.store(errno, std::memory_order_relaxed);
  errno = E2BIG;
  std::uint64_t mask = 0;
  ::syscall(SYS_rt_sigprocmask, SIG_BLOCK, nullptr, &mask, sizeof mask);
  seen.blocked.store(mask, std::memory_order_relaxed);
  while (!seen.may_end.load(std::memory_order_relaxed)) ::syscall(SYS_sched_yield);
  seen.calls.fetch_add(1, std::memory_order_relaxed);
  return 0;
}

const processor_set everywhere = processor_set::of(0);

int run_nothing(void*) {
  return 0;
}

// The thread has ended when another can be started.
void wait_for_end(bare_thread& thread) {
  while (!thread.start(run_nothing, nullptr, everywhere)) std::this_thread::yield();
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
  static bare_thread thread;
  for (int round = 0; round < 1000; ++round)
    while (!thread.start(run, &seen, everywhere)) std::this_thread::yield();
  wait_for_end(thread);
  EXPECT_EQ(seen.calls.load(std::memory_order_relaxed), 1000);
}

TEST(bare_thread, has_an_errno_of_its_own) {
  static record seen;
  static bare_thread thread;
  errno = ENOTTY;
  ASSERT_TRUE(thread.start(run, &seen, everywhere));
  wait_for_end(thread);
  EXPECT_EQ(errno, ENOTTY);
  EXPECT_EQ(seen.errno_at_begin.load(std::memory_order_relaxed), 0);
}

TEST(bare_thread, is_disturbed_by_no_signal_and_leaves_those_of_its_maker) {
  static record seen;
  static bare_thread thread;
  sigset_t before, after;
  pthread_sigmask(SIG_BLOCK, nullptr, &before);
  ASSERT_TRUE(thread.start(run, &seen, everywhere));
  wait_for_end(thread);
  constexpr std::uint64_t never_blocked = (1U << (SIGKILL - 1)) | (1U << (SIGSTOP - 1));
  EXPECT_EQ(seen.blocked.load(std::memory_order_relaxed), ~never_blocked);
  pthread_sigmask(SIG_BLOCK, nullptr, &after);
  for (int number = 1; number < SIGRTMAX; ++number)
    EXPECT_EQ(sigismember(&before, number), sigismember(&after, number)) << number;
}

// What the thread of a test finds.
struct conditions {
  atomic<bool> is_told{false};
  int policy = -1;
  unsigned processors = 0;
  int error_of_descriptor = 0;
};

int tell(void* argument) {
  auto& seen = *static_cast<conditions*>(argument);
  seen.policy = static_cast<int>(::syscall(SYS_sched_getscheduler, 0));
  cpu_set_t set;
  CPU_ZERO(&set);
  ::syscall(SYS_sched_getaffinity, 0, sizeof set, &set);
  seen.processors = static_cast<unsigned>(CPU_COUNT(&set));
  errno = 0;
  ::syscall(SYS_fcntl, 0, F_GETFD);
  seen.error_of_descriptor = errno;
  seen.is_told.store(true, std::memory_order_release);
  return 0;
}

conditions told_by(bare_thread& thread) {
  static conditions seen;
  seen.is_told.store(false, std::memory_order_relaxed);
  EXPECT_TRUE(thread.start(tell, &seen, everywhere));
  while (!seen.is_told.load(std::memory_order_acquire)) std::this_thread::yield();
  wait_for_end(thread);
  return {
      .policy = seen.policy, .processors = seen.processors, .error_of_descriptor = seen.error_of_descriptor};
}

TEST(bare_thread, has_the_processors_of_the_process_and_not_of_its_maker) {
  static bare_thread thread;
  cpu_set_t all, this_cpu;
  ASSERT_EQ(sched_getaffinity(0, sizeof all, &all), 0);
  if (CPU_COUNT(&all) == 1) GTEST_SKIP() << "there is one processor";
  CPU_ZERO(&this_cpu);
  CPU_SET(static_cast<std::size_t>(sched_getcpu()), &this_cpu);
  ASSERT_EQ(sched_setaffinity(0, sizeof this_cpu, &this_cpu), 0);
  const unsigned found = told_by(thread).processors;
  sched_setaffinity(0, sizeof all, &all);
  EXPECT_EQ(found, static_cast<unsigned>(CPU_COUNT(&all)));
}

TEST(bare_thread, has_no_real_time_policy) {
  static bare_thread thread;
  const sched_param lowest = {1}, none = {};
  if (sched_setscheduler(0, SCHED_FIFO, &lowest) != 0) GTEST_SKIP() << "the system refuses such a policy";
  const int found = told_by(thread).policy;
  sched_setscheduler(0, SCHED_OTHER, &none);
  EXPECT_EQ(found, SCHED_OTHER);
}

TEST(bare_thread, has_no_files) {
  static bare_thread thread;
  const int error = told_by(thread).error_of_descriptor;
  EXPECT_EQ(error, EBADF);
  EXPECT_EQ(::fcntl(0, F_GETFD) == -1 && errno == EBADF, false) << "those of the program stay";
}

TEST(bare_thread, is_one_at_a_time_and_no_second_thread_of_the_program) {
  static record seen;
  static bare_thread thread;
  const unsigned before = threads_of_the_process();
  const bool was_single = __libc_single_threaded != 0;
  seen.may_end.store(false, std::memory_order_relaxed);
  ASSERT_TRUE(thread.start(run, &seen, everywhere));
  EXPECT_FALSE(thread.start(run, &seen, everywhere));
  EXPECT_EQ(threads_of_the_process(), before + 1);
  EXPECT_EQ(__libc_single_threaded != 0, was_single);
  seen.may_end.store(true, std::memory_order_relaxed);
  wait_for_end(thread);
  EXPECT_EQ(seen.calls.load(std::memory_order_relaxed), 1);
}

TEST(bare_thread, outlives_the_thread_that_started_it) {
  static record seen;
  static bare_thread thread;
  seen.may_end.store(false, std::memory_order_relaxed);
  std::thread([] { EXPECT_TRUE(thread.start(run, &seen, everywhere)); }).join();
  seen.may_end.store(true, std::memory_order_relaxed);
  wait_for_end(thread);
  EXPECT_EQ(seen.calls.load(std::memory_order_relaxed), 1);
}

}  // namespace
}  // namespace heaplab
