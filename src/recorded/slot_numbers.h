#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/assertion.h"

namespace heaplab::recorded {

// The slots of one stream. A slot whose block is allocated and freed by the same stream is reused, the slot
// returned last first (LIFO). A slot through which a block passes to another thread is used once in the whole
// workload: the thread that waits for the block must never see the pointer of an earlier or later block
// there.
class slot_numbers {
public:
  // Slots are taken in rows of this many, so that slots of two streams share no cache line.
  static constexpr std::uint32_t row = 8;

  // `unused` is the first slot that no stream has taken; take() advances it.
  std::uint32_t take(std::uint64_t& unused) {
    if (returned_.empty()) return take_once(unused);
    const std::uint32_t slot = returned_.back();
    returned_.pop_back();
    return slot;
  }

  std::uint32_t take_once(std::uint64_t& unused) {
    if (next_ == end_) {
      HEAPLAB_ASSERT(unused % row == 0);
      next_ = static_cast<std::uint32_t>(unused);
      unused += row;
      end_ = static_cast<std::uint32_t>(unused);
    }
    return next_++;
  }

  // Precondition: this stream took the slot, and no block is in it any more.
  void release(std::uint32_t slot) {
    HEAPLAB_ASSERT_EXPENSIVE(std::find(returned_.begin(), returned_.end(), slot) == returned_.end());
    returned_.push_back(slot);
  }

private:
  std::vector<std::uint32_t> returned_;
  std::uint32_t next_ = 0;
  std::uint32_t end_ = 0;
};

}  // namespace heaplab::recorded
