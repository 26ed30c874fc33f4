// The heap of one library: HEAPLAB_LLHEAP_VARIANT names one of the values in variants.h.
#pragma once

#include <heaplab/llheap.h>
#include <malloc.h>

#include <cstddef>

#include "allocators/llheap/variants.h"

extern "C" {
// Null unless the program defines them.
[[gnu::weak]] decltype(malloc_heap_extend) malloc_heap_extend;
[[gnu::weak]] decltype(malloc_thread_extend) malloc_thread_extend;
[[gnu::weak]] decltype(malloc_thread_block) malloc_thread_block;
[[gnu::weak]] decltype(malloc_mmap_start) malloc_mmap_start;
[[gnu::weak]] decltype(malloc_unfreed) malloc_unfreed;
}

namespace heaplab::llheap {

// The limits as the program wants them.
struct program_policy {
  static limits at_start() {
    limits wanted = limits_of(HEAPLAB_LLHEAP_VARIANT);
    if (malloc_heap_extend != nullptr) wanted.area_bytes = malloc_heap_extend();
    if (malloc_thread_extend != nullptr) wanted.thread_buffer_bytes = malloc_thread_extend();
    if (malloc_thread_block != nullptr) wanted.heaps_per_chunk = malloc_thread_block();
    if (malloc_mmap_start != nullptr) wanted.mapping_threshold = malloc_mmap_start();
    return wanted;
  }
};

class bound_heap : public heap_for<HEAPLAB_LLHEAP_VARIANT, program_policy> {
  using below = heap_for<HEAPLAB_LLHEAP_VARIANT, program_policy>;

public:
  static constexpr const char* name = name_of(HEAPLAB_LLHEAP_VARIANT);

  // `fd` unless the program chose another by malloc_stats_fd.
  static void print_statistics(int fd) noexcept {
    below::print(chosen_fd >= 0 ? chosen_fd : fd, print_all_buckets);
  }

  // As mallopt: 1, or 0 for a value out of range. What does not apply here is accepted and ignored.
  static int set_option(int option, int value) noexcept {
    if (option != M_MMAP_THRESHOLD) return 1;
    if (value < 0 || static_cast<std::size_t>(value) > largest_bucketed) return 0;
    below::start();
    below::storage().set_mapping_threshold(static_cast<std::size_t>(value));
    return 1;
  }

  // Set by the extended interface, read when statistics are printed.
  static inline constinit int chosen_fd = -1;
  static inline constinit bool print_all_buckets = false;
};

}  // namespace heaplab::llheap
