// Sleeping until another thread of the process has changed a word of memory (futex(2)). errno stays as it
// was.
#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

#include "base/errno_keeper.h"

namespace heaplab {

// Sleeps if `word` holds `seen`, until it is woken. May return for no reason at all.
inline void futex_wait(const void* word, std::uint32_t seen) {
  const errno_keeper keep;
  ::syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, seen, nullptr);
}

// Wakes one of the threads that sleep on `word`.
inline void futex_wake_one(const void* word) {
  const errno_keeper keep;
  ::syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1);
}

}  // namespace heaplab
