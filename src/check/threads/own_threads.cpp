// Threads that a malloc starts in a program of one thread. They must not hold what the program gives up, nor
// have what the program has for its own threads. A malloc without threads passes.
#include "check/own_threads.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <poll.h>
#include <sched.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>

#include "check/message.h"

namespace heaplab::check {
namespace {

// Frees so much at once that a malloc may want help with it.
void free_much() {
  constexpr std::size_t bytes = std::size_t{100} << 20;
  auto* const block = static_cast<char*>(std::malloc(bytes));
  ASSERT_NE(block, nullptr);
  std::memset(block, 1, bytes);
  std::free(block);
  constexpr std::size_t count = 200'000;
  auto** const blocks = static_cast<char**>(std::malloc(count * sizeof(char*)));
  for (std::size_t i = 0; i < count; ++i)
    blocks[i] = static_cast<char*>(std::memset(std::malloc(500), 1, 500));
  for (std::size_t i = 0; i < count; ++i) std::free(blocks[i]);
  std::free(blocks);
}

// Statuses of a child.
constexpr int done = 0, refused = 3;

// Stops itself when it has given all files up, in a table of its own.
void give_files_up(bool (*give_up)()) {
  free_much();
  let_others_sleep();
  if (!give_up()) _exit(refused);
  raise(SIGSTOP);
  _exit(done);
}

// Whether the last end of a pipe that is written to is closed when such a child stands.
void expect_end_of_file(bool (*give_up)()) {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  const pid_t child = fork();
  if (child == 0) give_files_up(give_up);
  close(ends[1]);
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, WUNTRACED), child);
  if (WIFSTOPPED(status)) {
    pollfd seen = {ends[0], POLLIN, 0};
    EXPECT_EQ(poll(&seen, 1, 0), 1) << "a file that the program has closed is still open";
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
  } else {
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == refused) << status;
  }
  close(ends[0]);
}

TEST(own_threads, keep_no_file_open_that_close_range_closes) {
  expect_end_of_file([] { return syscall(SYS_close_range, 3U, ~0U, CLOSE_RANGE_UNSHARE) == 0; });
}

TEST(own_threads, keep_no_file_open_that_unshare_leaves_behind) {
  expect_end_of_file([] {
    if (unshare(CLONE_FILES) != 0) return false;
    for (int file = 3; file < 100; ++file) close(file);
    return true;
  });
}

// Statuses of a child: what is wrong with a thread.
constexpr int has_policy = 4, has_processor = 5;

int look_at_threads(bool is_real_time) {
  free_much();
  let_others_sleep();
  int result = done;
  for_each_other_thread([&](pid_t thread, char) {
    cpu_set_t where;
    if (is_real_time && sched_getscheduler(thread) != SCHED_OTHER) result = has_policy;
    if (!is_real_time && sched_getaffinity(thread, sizeof where, &where) == 0 && CPU_COUNT(&where) == 1)
      result = has_processor;
  });
  return result;
}

int status_of(pid_t child) {
  int status = -1;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(own_threads, have_no_real_time_policy) {
  const pid_t child = fork();
  if (child == 0) {
    const sched_param lowest = {1};
    if (sched_setscheduler(0, SCHED_FIFO, &lowest) != 0) _exit(refused);
    _exit(look_at_threads(true));
  }
  const int status = status_of(child);
  if (status == refused) GTEST_SKIP() << "this user may have no real-time policy";
  EXPECT_EQ(status, done);
}

// The program's thread gives itself one processor; the process has more.
TEST(own_threads, may_leave_the_processor_of_the_program) {
  cpu_set_t all, this_cpu;
  ASSERT_EQ(sched_getaffinity(0, sizeof all, &all), 0);
  if (CPU_COUNT(&all) == 1) GTEST_SKIP() << "the process has one processor";
  CPU_ZERO(&this_cpu);
  CPU_SET(static_cast<std::size_t>(sched_getcpu()), &this_cpu);
  const pid_t child = fork();
  if (child == 0)
    _exit(sched_setaffinity(0, sizeof this_cpu, &this_cpu) == 0 ? look_at_threads(false) : refused);
  EXPECT_EQ(status_of(child), done);
}

}  // namespace
}  // namespace heaplab::check
