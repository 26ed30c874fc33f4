#pragma once

#include "workloads/harness/option_table.h"
#include "workloads/harness/stamp.h"

namespace heaplab::harness {

// Whether a workload writes to its objects. With --touch (the default), both ends of each object are written
// and checked (stamp.h). With --no-touch, only the alignment is checked, and pages that the allocator itself
// does not touch stay untouched.
class touching {
public:
  void declare(option_table& options) {
    options.flag("touch", touch_, "Whether both ends of every object are written, and checked later");
  }

  template <class Heap>
  HEAPLAB_FAST_PATH block allocate(Heap& heap, std::size_t bytes, std::uint8_t stamp) const {
    return accept({heap.allocate(bytes), bytes}, stamp);
  }

  // Both ends of the block must be zero.
  template <class Heap>
  HEAPLAB_FAST_PATH block allocate_zeroed(Heap& heap, std::size_t bytes, std::uint8_t stamp) const {
    const block fresh{heap.allocate_zeroed(bytes), bytes};
    if (touch_) expect_stamp(fresh, 0);
    return accept(fresh, stamp);
  }

  // `held` may be null.
  template <class Heap>
  HEAPLAB_FAST_PATH block reallocate(Heap& heap, block held, std::size_t bytes, std::uint8_t stamp) const {
    return touch_ && held.start != nullptr ? reallocate_stamped(heap, held, bytes, stamp)
                                           : accept({heap.reallocate(held.start, bytes), bytes}, stamp);
  }

  // `held` may be null.
  template <class Heap>
  HEAPLAB_FAST_PATH void release(Heap& heap, block held, std::uint8_t stamp) const {
    if (touch_) expect_stamp(held, stamp);
    heap.release(held.start);
  }

private:
  HEAPLAB_FAST_PATH block accept(block fresh, std::uint8_t stamp) const {
    if (touch_) {
      accept_block(fresh, stamp);
    } else if (!is_aligned(fresh.start, required_alignment(fresh.bytes))) [[unlikely]] {
      broken_block(fresh, "is not aligned");
    }
    return fresh;
  }

  bool touch_ = true;
};

}  // namespace heaplab::harness
