#pragma once

#include <atomic>
#include <cstdint>

#include "concurrent/sync.h"

namespace heaplab::concurrent {

// Sections that the one thread of a program enters without an atomic exchange, and a visitor whom they must
// not meet: a thread that the heap itself starts, of which the C library does not know (base/bare_thread.h).
//
// A Dekker pattern with one fence for both: the program's thread counts itself in and then looks for a visit;
// the visitor announces itself, makes every thread of the process pass a barrier, and then looks whether the
// thread is inside. Either the thread sees the visit, or the visitor sees the thread, and waits.
template <class Sync>
class solo_sections {
public:
  // --- called by threads of the program; sections nest ---

  // False: the thread is not alone, and must take a lock. So must the visitor, who may call this.
  static bool try_enter() {
    if (!Sync::is_alone() || visited_.load(std::memory_order_relaxed)) return false;
    const std::uint32_t outer = depth_.load(std::memory_order_relaxed);
    depth_.store(outer + 1, std::memory_order_relaxed);
    std::atomic_signal_fence(std::memory_order_seq_cst);
    // acquire pairs with end_visit. Within an outer section nobody visits.
    if (outer > 0 || !visited_.load(std::memory_order_acquire)) return true;
    depth_.store(outer, std::memory_order_relaxed);
    return false;
  }

  // Called after try_enter has returned true. A thread starts another outside of sections.
  static void leave() {
    // release pairs with begin_visit.
    depth_.store(depth_.load(std::memory_order_relaxed) - 1, std::memory_order_release);
  }

  // --- called by the visitor ---

  // True: until end_visit no thread is inside. False: the system refuses the barrier, or the program's thread
  // stays inside for long.
  static bool begin_visit() {
    visited_.store(true, std::memory_order_relaxed);
    if (!Sync::is_alone()) return true;
    if (Sync::barrier())
      for (unsigned attempt = 0; attempt < patience; ++attempt) {
        if (depth_.load(std::memory_order_acquire) == 0) return true;
        Sync::pause();
      }
    end_visit();
    return false;
  }

  static void end_visit() { visited_.store(false, std::memory_order_release); }

  // In the child of a fork, which has no visitor.
  static void after_fork_in_child() {
    depth_.store(0, std::memory_order_relaxed);
    visited_.store(false, std::memory_order_relaxed);
  }

private:
  // A section takes no longer, unless its thread stands.
  static constexpr unsigned patience = 1 + Sync::attempts_before_sleep;

  template <class T>
  using atomic = typename Sync::template atomic<T>;
  static constinit inline atomic<std::uint32_t> depth_{0};
  static constinit inline atomic<bool> visited_{false};
};

}  // namespace heaplab::concurrent
