#pragma once

#include <atomic>
#include <cstdint>

#include "base/compiler.h"
#include "concurrent/sync.h"

namespace heaplab::concurrent {

// A lock of four bytes that are zero when the lock is free, so that the lock works before any constructor has
// run, and in code that is itself the malloc. Made for critical sections of tens of instructions that rarely
// meet: a thread that finds the lock held spins for about as long as such a section takes, and then sleeps. A
// thread of a real-time policy would otherwise keep the holder from the processor. (Drepper, "Futexes Are
// Tricky", mutex 3.)
template <class Sync>
class futex_lock {
public:
  bool try_lock() {
    std::uint32_t seen = held_.load(std::memory_order_relaxed);
    // acquire pairs with unlock.
    return seen == free &&
           held_.compare_exchange_strong(seen, held, std::memory_order_acquire, std::memory_order_relaxed);
  }

  void lock() {
    if (!try_lock()) lock_slow();
  }

  void unlock() {
    // release pairs with try_lock and lock_slow: the next holder sees what was done under the lock.
    if (held_.exchange(free, std::memory_order_release) == waited_for) Sync::wake_one(held_);
  }

  // --- in the child of a fork ---

  // No thread is left that could hold the lock or wait for it.
  bool was_held() const { return held_.load(std::memory_order_relaxed) != free; }
  void forget_holder() { held_.store(free, std::memory_order_relaxed); }

protected:
  // For a thread beside which no other can take the lock or wait for it. relaxed: another thread reads the
  // word only in a visit, before which solo_sections publish what was done under the lock. The fences are for
  // a signal handler that forks.
  void hold_alone() {
    held_.store(alone, std::memory_order_relaxed);
    std::atomic_signal_fence(std::memory_order_seq_cst);
  }
  // Called by the holder.
  bool is_held_alone() const { return held_.load(std::memory_order_relaxed) == alone; }
  void release_alone() {
    std::atomic_signal_fence(std::memory_order_seq_cst);
    held_.store(free, std::memory_order_relaxed);
  }

private:
  static constexpr std::uint32_t free = 0, held = 1, waited_for = 2, alone = 3;

  HEAPLAB_SLOW_PATH void lock_slow() {
    for (unsigned attempt = 0; attempt < Sync::attempts_before_sleep; ++attempt) {
      Sync::pause();
      if (try_lock()) return;
    }
    // Other threads may be asleep as well. A thread that has slept leaves `waited_for` in the word, so that
    // its unlock wakes the next. acquire pairs with unlock.
    while (held_.exchange(waited_for, std::memory_order_acquire) != free) Sync::sleep(held_, waited_for);
  }

  typename Sync::template atomic<std::uint32_t> held_{free};
};

template <class Lock>
class lock_holder {
public:
  explicit lock_holder(Lock& lock) : lock_(lock) { lock_.lock(); }
  ~lock_holder() { lock_.unlock(); }
  lock_holder(const lock_holder&) = delete;
  lock_holder& operator=(const lock_holder&) = delete;

private:
  Lock& lock_;
};

}  // namespace heaplab::concurrent
