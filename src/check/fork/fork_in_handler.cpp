// fork in a signal handler that interrupts fork, at each instruction of fork, as POSIX allowed until 2024.
// The process has one thread: with several threads, locks of the C library block the child.
#if defined(__x86_64__)
#include <ucontext.h>
#include <unistd.h>

#include <csignal>

#include "check/children.h"
#include "check/forked_heap.h"

namespace heaplab::check {
namespace {

constexpr greg_t trap_flag = 0x100;
volatile bool stepping = false;
volatile bool failed = false;
volatile unsigned stops = 0;
unsigned every = 1;
one_of_each held;

// The child starts no thread, because the C library makes the stack of a thread.
int use_heap() {
  alarm(child_limit_s);
  const one_of_each mine = make_blocks(10);
  return check_and_free(mine, 10) && check_and_free(held, 1000) ? 0 : 1;
}

bool fork_one() {
  const pid_t child = fork();
  if (child == 0) _exit(use_heap());
  return status_of(child) == 0;
}

void trap(int, siginfo_t*, void* context) {
  greg_t& flags = static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_EFL];
  flags = stepping ? flags | trap_flag : flags & ~trap_flag;
  if (!stepping) return;
  stops = stops + 1;
  if (stops % every != 0) return;
  if (!fork_one()) failed = true;
}

TEST(fork, in_a_handler_that_interrupts_fork_at_every_instruction) {
  held = make_blocks(1000);
  every = 10 / rounds(10);
  struct sigaction action = {}, before;
  action.sa_sigaction = trap;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGTRAP, &action, &before);
  stepping = true;
  raise(SIGTRAP);
  const pid_t child = fork();
  stepping = false;
  raise(SIGTRAP);
  sigaction(SIGTRAP, &before, nullptr);
  if (child == 0) _exit(failed ? 1 : use_heap());
  EXPECT_EQ(status_of(child), 0);
  EXPECT_FALSE(failed);
  EXPECT_GT(stops, 100U);
  EXPECT_TRUE(check_and_free(held, 1000));
}

}  // namespace
}  // namespace heaplab::check
#endif
