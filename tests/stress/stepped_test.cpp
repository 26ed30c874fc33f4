// A program under a debugger that stops it after every instruction. Each stop aborts a restartable sequence,
// so that scalloc-cores takes its slow path in every call: which must not move many blocks for each.
#include <gtest/gtest.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>

namespace heaplab::check {
namespace {

constexpr unsigned pairs = 200;
constexpr long most_steps_of_pair = 600;

// Calls malloc and free between two stops.
[[noreturn]] void be_stepped() {
  void* volatile first = std::malloc(64);
  std::free(first);
  ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
  raise(SIGSTOP);
  for (unsigned i = 0; i < pairs / 2; ++i) {
    void* volatile small = std::malloc(64);
    void* volatile larger = std::malloc(200);
    std::free(small);
    std::free(larger);
  }
  raise(SIGSTOP);
  _exit(0);
}

// The instructions of a child up to its next stop; -1: it has ended.
long steps_to_stop(pid_t child) {
  for (long steps = 0;; ++steps) {
    int status = 0;
    if (ptrace(PTRACE_SINGLESTEP, child, nullptr, nullptr) != 0 || waitpid(child, &status, 0) != child)
      return -1;
    if (!WIFSTOPPED(status)) return -1;
    if (WSTOPSIG(status) == SIGSTOP) return steps;
  }
}

TEST(stepped, calls_take_few_instructions) {
  const pid_t child = fork();
  if (child == 0) be_stepped();
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  if (!WIFSTOPPED(status)) GTEST_SKIP() << "no process may be traced here";
  const long steps = steps_to_stop(child);
  kill(child, SIGKILL);
  waitpid(child, &status, 0);
  EXPECT_GT(steps, 10L * pairs);
  EXPECT_LT(steps, most_steps_of_pair * pairs);
  RecordProperty("steps", static_cast<int>(steps));
}

}  // namespace
}  // namespace heaplab::check
