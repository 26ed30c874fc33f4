// No signal comes to the calling thread while the object lives. By a bare system call: the C library would
// leave out the signals that it needs itself, which go to threads it knows.
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
  // As the kernel has them.
  using set = std::uint64_t;
  static constexpr set all = ~set{0};
  // Those that the thread's own instructions raise would end the process if they were blocked: that of a
  // program that steps through itself, for one.
  static constexpr set from_elsewhere = [] {
    set result = all;
    for (const int own : {SIGTRAP, SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGSYS}) result &= ~(set{1} << (own - 1));
    return result;
  }();

  explicit blocked_signals(const set& blocked = all) { change(&blocked, &before_); }
  ~blocked_signals() { change(&before_, nullptr); }
  blocked_signals(const blocked_signals&) = delete;
  blocked_signals& operator=(const blocked_signals&) = delete;

private:
  static void change(const set* to, set* before) {
    const errno_keeper keep;
    ::syscall(SYS_rt_sigprocmask, SIG_SETMASK, to, before, sizeof(set));
  }

  set before_ = 0;
};

}  // namespace heaplab
