#pragma once

#include "concurrent/futex_lock.h"

namespace heaplab::concurrent {

// A futex_lock for what only threads of the program reach, not a thread that the heap itself starts. While
// the program has one thread, nobody else can take the lock, so that lock and unlock are stores instead of
// atomic exchanges. The word is written all the same: a child of fork sees whether its parent was inside.
template <class Sync>
class elided_lock : public futex_lock<Sync> {
public:
  // A thread that is alone stays alone until it starts another, which it does outside the lock. Starting a
  // thread orders all stores before it.
  void lock() {
    if (Sync::is_alone()) return this->hold_alone();
    futex_lock<Sync>::lock();
  }

  void unlock() {
    if (Sync::is_alone()) return this->release_alone();
    futex_lock<Sync>::unlock();
  }
};

}  // namespace heaplab::concurrent
