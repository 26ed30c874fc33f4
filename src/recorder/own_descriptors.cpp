#include "recorder/own_descriptors.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>

#include "base/blocked_signals.h"
#include "base/single_thread.h"

namespace heaplab::recorder {

namespace {

constexpr std::size_t stack_bytes = std::size_t{64} << 10;

// While the guard lives, the calling thread cannot be cancelled, as malloc is no cancellation point, and all
// signals are blocked, so that the cloned process runs no signal handler of the program.
class undisturbed {
public:
  undisturbed() { ::pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_); }
  ~undisturbed() { ::pthread_setcancelstate(cancel_, nullptr); }
  undisturbed(const undisturbed&) = delete;
  undisturbed& operator=(const undisturbed&) = delete;

private:
  int cancel_ = 0;
  blocked_signals signals_;
};

struct job {
  void (*work)(void*);
  void* argument;
};

}  // namespace

bool with_own_descriptors(void (*work)(void*), void* argument) {
  const undisturbed from_here;
  if (is_single_threaded()) return work(argument), true;
  void* const stack =
      ::mmap(nullptr, stack_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
  if (stack == MAP_FAILED) return false;
  job wanted{work, argument};
  const auto run = [](void* of) {
    const job& given = *static_cast<job*>(of);
    given.work(given.argument);
    return 0;
  };
  const pid_t process =
      ::clone(run, static_cast<char*>(stack) + stack_bytes, CLONE_VM | CLONE_VFORK, &wanted);
  if (process > 0) ::waitpid(process, nullptr, __WALL);
  const int error = errno;
  ::munmap(stack, stack_bytes);
  errno = error;
  return process > 0;
}

}  // namespace heaplab::recorder
