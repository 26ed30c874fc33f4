// Where the code of this folder and of the allocators gets its atomics from: a template parameter Sync. The
// libraries use std_sync; tests/explore substitutes one whose every operation is a point at which another
// thread may be scheduled, and so runs the same code through all interleavings.
#pragma once

#include "base/atomic.h"
#include "base/cpu.h"

namespace heaplab::concurrent {

struct std_sync {
  template <class T>
  using atomic = heaplab::atomic<T>;

  // The caller waits for another thread; `turn` counts its attempts.
  static void wait(unsigned turn) {
    // A lock here is held for tens of instructions: who does not get it after this many attempts waits for
    // a thread that is not running.
    constexpr unsigned attempts_before_yield = 64;
    if (turn % attempts_before_yield == attempts_before_yield - 1) {
      sched_yield();
    } else {
      spin_pause();
    }
  }
};

}  // namespace heaplab::concurrent
