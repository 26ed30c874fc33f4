// Memory for calls that come before next_functions.h has found the functions below: the look-up itself may
// allocate.
#pragma once

#include <algorithm>
#include <cstddef>

#include "base/assertion.h"
#include "base/atomic.h"
#include "base/bits.h"

namespace heaplab::recorder {

// Allocates and never frees. Blocks are zeroed, aligned to 16 bytes, and store their size.
class early_arena {
public:
  // Null if the arena is used up.
  void* allocate(std::size_t size) {
    if (size > sizeof bytes_) return nullptr;
    // A block of no bytes takes room, too: behind the end it would not be the arena's.
    const std::size_t whole = header_bytes + align_up(std::max(size, std::size_t{1}), header_bytes);
    // relaxed: each caller needs a range of its own, and nothing is published.
    const std::size_t at = used_.fetch_add(whole, std::memory_order_relaxed);
    if (at > sizeof bytes_ || whole > sizeof bytes_ - at) return nullptr;
    *reinterpret_cast<std::size_t*>(bytes_ + at) = size;
    HEAPLAB_ASSERT(is_aligned(bytes_ + at, header_bytes) && owns(bytes_ + at + header_bytes));
    return bytes_ + at + header_bytes;
  }

  bool owns(const void* block) const { return block >= bytes_ && block < bytes_ + sizeof bytes_; }

  // Precondition: owns(block).
  std::size_t size_of(const void* block) const {
    HEAPLAB_ASSERT(owns(block) && is_aligned(block, header_bytes));
    return *reinterpret_cast<const std::size_t*>(static_cast<const char*>(block) - header_bytes);
  }

private:
  static constexpr std::size_t header_bytes = 16;
  alignas(header_bytes) char bytes_[32768]{};
  atomic<std::size_t> used_ = 0;
};

inline constinit early_arena early;

}  // namespace heaplab::recorder
