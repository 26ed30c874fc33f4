// No signal comes to the calling thread while the object lives, but for those that the thread's own
// instructions raise: blocked, these would end the process. By a bare system call: the C library would leave
// out the signals that it needs itself, which go to threads it knows.
#pragma once

#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#include <initializer_list>

#include "base/errno_keeper.h"

namespace heaplab {

class blocked_signals {
public:
  blocked_signals() { change(&all, &before_); }
  ~blocked_signals() { change(&before_, nullptr); }
  blocked_signals(const blocked_signals&) = delete;
  blocked_signals& operator=(const blocked_signals&) = delete;

private:
  // As the kernel has them.
  using set = std::uint64_t;
  static constexpr set all = [] {
    set result = ~set{0};
    for (const int own : {SIGTRAP, SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGSYS}) result &= ~(set{1} << (own - 1));
    return result;
  }();

  static void change(const set* to, set* before) {
    const errno_keeper keep;
    ::syscall(SYS_rt_sigprocmask, SIG_SETMASK, to, before, sizeof(set));
  }

  set before_ = 0;
};

}  // namespace heaplab
