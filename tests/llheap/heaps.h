// The heaps under test. Each value of config, and each policy, is a heap of its own with its own state.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <thread>

#include "allocators/llheap/variants.h"

namespace heaplab::llheap {

// Small enough that every boundary is crossed often.
struct small_policy {
  static limits at_start() {
    return {.area_bytes = 2 * mib,
            .thread_buffer_bytes = 64 * kib,
            .mapping_threshold = mib,
            .heaps_per_chunk = 2};
  }
};

using small_heap = heap_for<plain, small_policy>;
using small_without_ownership = heap_for<without_ownership, small_policy>;
using small_debugging = heap_for<debugging, small_policy>;

using all_heaps = testing::Types<heap_for<plain>, small_heap, small_without_ownership, small_debugging>;

template <class Body>
void in_another_thread(Body body) {
  std::thread(body).join();
}

inline unsigned char* bytes(void* block) {
  return static_cast<unsigned char*>(block);
}

inline bool all_zero(void* block, std::size_t from, std::size_t to) {
  for (std::size_t i = from; i < to; ++i)
    if (bytes(block)[i] != 0) return false;
  return true;
}

}  // namespace heaplab::llheap
