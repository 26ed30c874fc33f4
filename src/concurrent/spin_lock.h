#pragma once

#include <cstdint>

#include "concurrent/sync.h"

namespace heaplab::concurrent {

// A test-and-test-and-set lock of four bytes, all zero when free: usable before any constructor has run and
// from code that is itself the malloc. For sections of tens of instructions that rarely meet.
template <class Sync>
class spin_lock {
public:
  bool try_lock() {
    // acquire pairs with unlock.
    return held_.load(std::memory_order_relaxed) == 0 && held_.exchange(1, std::memory_order_acquire) == 0;
  }

  void lock() {
    for (unsigned turn = 0; !try_lock(); ++turn) Sync::wait(turn);
  }

  // release pairs with try_lock: who gets the lock next sees what was done under it.
  void unlock() { held_.store(0, std::memory_order_release); }

private:
  typename Sync::template atomic<std::uint32_t> held_{0};
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
