// What a thread has from the process, and not from the thread that happened to create it.
#pragma once

#include <fcntl.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>

#include "base/errno_keeper.h"

#ifndef SYS_close_range
#define SYS_close_range 436
#endif
#ifndef CLOSE_RANGE_UNSHARE
#define CLOSE_RANGE_UNSHARE (1U << 1)
#endif

namespace heaplab {

// The number of the process. A child of vfork has the memory of its parent, and a number of its own.
inline std::int32_t process_number() {
  return static_cast<std::int32_t>(::syscall(SYS_getpid));
}

// Processors by number, as the kernel has them.
class processor_set {
public:
  // Those of a thread; 0: of the calling one. Empty: the system does not tell, or has more than fit.
  static processor_set of(std::int32_t thread) {
    const errno_keeper keep;
    processor_set result;
    const long bytes = ::syscall(SYS_sched_getaffinity, thread, sizeof words_, result.words_);
    result.bytes_ = bytes > 0 ? static_cast<std::size_t>(bytes) : 0;
    return result;
  }

  // The calling thread runs on these from now on, as far as the system lets it. Without a system call where
  // the set is empty, and with a question alone where the thread does so already.
  void take() const {
    if (bytes_ == 0 || of(0) == *this) return;
    const errno_keeper keep;
    ::syscall(SYS_sched_setaffinity, 0, bytes_, words_);
  }

  bool operator==(const processor_set&) const = default;

private:
  static constexpr std::size_t limit = 8'192, bits = 8 * sizeof(unsigned long);
  unsigned long words_[limit / bits] = {};
  std::size_t bytes_ = 0;
};

// Gives the calling thread what a thread of the process has that no thread chose for itself: no real-time
// policy, the processors `all`, if there are any, and no file descriptors: a table of its own does not keep a
// file open that the program closes by close_range or after unshare. What the system refuses stays.
//
// The calls that change a policy and processors are made only where those differ, so that they need be
// allowed only in a program that makes them.
inline void take_process_conditions(const processor_set& all) {
  const errno_keeper keep;
  const long policy = ::syscall(SYS_sched_getscheduler, 0);
  if (policy >= 0 &&
      ((policy & ~SCHED_RESET_ON_FORK) == SCHED_FIFO || (policy & ~SCHED_RESET_ON_FORK) == SCHED_RR)) {
    const sched_param none = {};
    ::syscall(SYS_sched_setscheduler, 0, SCHED_OTHER, &none);
  }
  all.take();
  ::syscall(SYS_close_range, 0U, ~0U, CLOSE_RANGE_UNSHARE);
}

}  // namespace heaplab
