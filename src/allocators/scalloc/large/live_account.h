#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace heaplab::scalloc {

// The bytes of live large blocks, and their recent peak: the most at any time of the current period and of
// the period before. For the holder of a lock.
template <class Traits>
class live_account {
public:
  std::size_t bytes() const { return bytes_; }
  std::size_t recent_peak() const { return std::max(peak_, peak_before_); }

  // `now` is in ms.
  void set(std::size_t bytes, std::int64_t now) {
    constexpr std::int64_t period = Traits::config.decay_milliseconds;
    if (now - period_start_ > period) {
      // After a whole period without a change, the level of that period is its peak.
      peak_before_ = now - period_start_ > 2 * period ? bytes_ : peak_;
      peak_ = bytes_;
      period_start_ = now;
    }
    bytes_ = bytes;
    peak_ = std::max(peak_, bytes);
  }

private:
  std::size_t bytes_ = 0;
  std::size_t peak_ = 0, peak_before_ = 0;
  std::int64_t period_start_ = 0;  // ms
};

}  // namespace heaplab::scalloc
