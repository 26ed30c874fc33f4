// Blocks whose first byte is written after the allocation and compared before the deallocation. This is the
// access of Benchmarks III and IV, and it detects a source that breaks blocks.
#pragma once

#include <cstddef>

#include "base/bits.h"
#include "base/compiler.h"
#include "workloads/harness/stamp.h"
#include "workloads/local/barrier.h"

namespace heaplab::strategies {

template <class Handle>
HEAPLAB_FAST_PATH std::byte* make_marked(Handle& source, std::size_t bytes, std::byte mark) {
  const std::size_t alignment = harness::required_alignment(bytes);
  auto* const block = static_cast<std::byte*>(source.allocate(bytes, alignment));
  if (!is_aligned(block, alignment)) [[unlikely]]
    harness::broken_block({block, bytes}, "is not aligned");
  *block = mark;
  return &escape(*block);
}

template <class Handle>
HEAPLAB_FAST_PATH void end_marked(Handle& source, std::byte* block, std::size_t bytes, std::byte mark) {
  if (*block != mark) [[unlikely]]
    harness::broken_block({block, bytes}, "does not hold what was written into it");
  source.deallocate(block, bytes, harness::required_alignment(bytes));
}

}  // namespace heaplab::strategies
