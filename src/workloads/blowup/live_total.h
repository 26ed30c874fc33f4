#pragma once

#include <cstdint>

#include "base/atomic.h"

namespace heaplab::blowup {

// Bytes alive, of all threads together, and the most there were at a time. relaxed: numbers that publish
// nothing.
class live_total {
public:
  // Counts `change` bytes as live, or fewer; false: there would be more than `limit`, and nothing was
  // counted, not for an instant, so that no other thread takes bytes for live that were refused.
  bool add(std::int64_t change, std::int64_t limit = INT64_MAX) {
    std::int64_t live = live_.load(std::memory_order_relaxed);
    do {
      if (live + change > limit) return false;
    } while (!live_.compare_exchange_weak(live, live + change, std::memory_order_relaxed,
                                          std::memory_order_relaxed));
    std::int64_t most = most_.load(std::memory_order_relaxed);
    while (live + change > most &&
           !most_.compare_exchange_weak(most, live + change, std::memory_order_relaxed,
                                        std::memory_order_relaxed)) {
    }
    return true;
  }

  std::uint64_t most() const { return static_cast<std::uint64_t>(most_.load(std::memory_order_relaxed)); }

private:
  atomic<std::int64_t> live_{0}, most_{0};
};

}  // namespace heaplab::blowup
