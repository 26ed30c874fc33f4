// The template parameter Sync provides atomics and sleeping to the code of this folder and of the allocators.
// The libraries use std_sync. tests/explore substitutes a type whose every operation is a point at which
// another thread may be scheduled, and so runs the same code through all interleavings.
#pragma once

#include <cstdint>

#include "base/atomic.h"
#include "base/cpu.h"
#include "base/futex.h"
#include "base/process_barrier.h"
#include "base/single_thread.h"

namespace heaplab::concurrent {

static_assert(sizeof(atomic<std::uint32_t>) == sizeof(std::uint32_t), "a futex is four bytes");

struct std_sync {
  template <class T>
  using atomic = heaplab::atomic<T>;

  using word = atomic<std::uint32_t>;

  // A critical section of tens of instructions takes no longer than this many pauses.
  static constexpr unsigned attempts_before_sleep = 64;
  static void pause() { spin_pause(); }

  // Sleeps until woken if the value of `place` is `seen`; may return for no reason.
  static void sleep(const word& place, std::uint32_t seen) { futex_wait(&place, seen); }
  static void wake_one(const word& place) { futex_wake_one(&place); }

  // Whether no other thread of the program exists.
  static bool is_alone() { return is_single_threaded(); }
  // Every thread of the process passes a full barrier. False: the system refuses.
  static bool barrier() { return process_barrier(); }
};

// The same for code that a thread of the heap itself runs beside the one thread of a program.
struct never_alone_sync : std_sync {
  static bool is_alone() { return false; }
};

}  // namespace heaplab::concurrent
