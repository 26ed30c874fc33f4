#pragma once

#include <cstddef>

#include "base/cache_line.h"
#include "base/compiler.h"

namespace heaplab::acdc {

// Returns the same few bytes for every object; they have room for an object's links. The remaining time of a
// run is that of the mutator itself.
class null_heap {
public:
  HEAPLAB_FAST_PATH void* allocate(std::size_t) {
    keep(room_);
    return room_;
  }
  HEAPLAB_FAST_PATH void* allocate_aligned(std::size_t, std::size_t) { return room_; }
  HEAPLAB_FAST_PATH void release(void* object) { keep(object); }

private:
  // Keeps the compiler from removing the call.
  HEAPLAB_FAST_PATH static void keep(void* object) { asm volatile("" : : "r"(object) : "memory"); }

  alignas(cache_line_bytes) std::byte room_[cache_line_bytes];
};

}  // namespace heaplab::acdc
