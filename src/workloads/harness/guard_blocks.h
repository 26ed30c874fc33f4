#pragma once

#include <array>

#include "base/assertion.h"
#include "workloads/harness/heap_calls.h"
#include "workloads/harness/stamp.h"

namespace heaplab::harness {

// Live blocks beside the only object that a workload holds at a time. They detect a heap that returns the
// same block twice. Their number is constant, and nothing accesses them while the clock runs.
class guard_blocks {
public:
  // Allocates the blocks with `bytes` each, > 0.
  void allocate(std::size_t bytes) {
    HEAPLAB_ASSERT(bytes > 0 && blocks_.front().start == nullptr);
    plain_heap heap;
    for (std::size_t i = 0; i < blocks_.size(); ++i)
      blocks_[i] = allocate_stamped(heap, bytes, stamp_of(first_stamp + i));
  }

  void release() {
    plain_heap heap;
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
      release_stamped(heap, blocks_[i], stamp_of(first_stamp + i));
      blocks_[i] = {};
    }
  }

private:
  static constexpr std::uint64_t first_stamp = 128;
  std::array<block, 32> blocks_{};
};

}  // namespace heaplab::harness
