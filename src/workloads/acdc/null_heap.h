#pragma once

#include <cstddef>

#include "base/cache_line.h"
#include "base/compiler.h"

namespace heaplab::acdc {

// Always the same few bytes, in which the links of an object find room: what remains of a run's times is
// the mutator's own.
class null_heap {
public:
  HEAPLAB_FAST_PATH void* allocate(std::size_t) {
    keep(room_);
    return room_;
  }
  HEAPLAB_FAST_PATH void* allocate_aligned(std::size_t, std::size_t) { return room_; }
  HEAPLAB_FAST_PATH void release(void* object) { keep(object); }

private:
  // The compiler must take the call for one that matters.
  HEAPLAB_FAST_PATH static void keep(void* object) { asm volatile("" : : "r"(object) : "memory"); }

  alignas(cache_line_bytes) std::byte room_[cache_line_bytes];
};

}  // namespace heaplab::acdc
