#pragma once

#include "concurrent/futex_lock.h"
#include "concurrent/solo_sections.h"

namespace heaplab::concurrent {

// A futex_lock that the one thread of a program takes and releases by stores instead of atomic exchanges. A
// background purge thread takes the lock only during a visit (solo_sections.h). The word is written all the
// same: a child of fork sees whether its parent was inside.
template <class Sync>
class elided_lock : public futex_lock<Sync> {
  using sections = solo_sections<Sync>;

public:
  void lock() {
    if (sections::try_enter()) return this->hold_alone();
    futex_lock<Sync>::lock();
  }

  void unlock() {
    if (!this->is_held_alone()) return futex_lock<Sync>::unlock();
    this->release_alone();
    sections::leave();
  }
};

}  // namespace heaplab::concurrent
