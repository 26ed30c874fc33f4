// Sleeps until another thread of the process changes a word of memory (futex(2)). errno stays unchanged.
#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cstdint>

#include "base/errno_keeper.h"

namespace heaplab {

// Sleeps until woken if the value of `word` is `seen`. May return for no reason.
inline void futex_wait(const void* word, std::uint32_t seen) {
  const errno_keeper keep;
  ::syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, seen, nullptr);
}

// Wakes one of the threads asleep on `word`.
inline void futex_wake_one(const void* word) {
  const errno_keeper keep;
  ::syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1);
}

// The same, for at most `duration` ms.
inline void futex_wait_for(const void* word, std::uint32_t seen, std::int64_t duration) {
  const errno_keeper keep;
  constexpr std::int64_t in_a_second = 1'000, ns_in_one = 1'000'000;
  const timespec time = {duration / in_a_second, duration % in_a_second * ns_in_one};
  ::syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, seen, &time);
}

}  // namespace heaplab
