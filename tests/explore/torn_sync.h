// A planted fault for explorations to find: a compare-and-swap that looks, and then acts whatever has
// happened meanwhile. Two threads get the same lock, and an update between the look and the store is lost.
#pragma once

#include <atomic>

#include "explore/explorer.h"

namespace heaplab::explore {

struct torn_sync : explored_sync {
  template <class T>
  struct atomic : explored_atomic<T> {
    using explored_atomic<T>::explored_atomic;
    bool compare_exchange_strong(T& expected, T wanted, std::memory_order = {}, std::memory_order = {}) {
      const T seen = this->load();
      if (seen != expected) {
        expected = seen;
        return false;
      }
      this->store(wanted);
      return true;
    }
  };
};

}  // namespace heaplab::explore
