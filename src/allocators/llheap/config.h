#pragma once

#include <cstddef>

#include "base/os_pages.h"

namespace heaplab::llheap {

inline constexpr std::size_t kib = std::size_t{1} << 10;
inline constexpr std::size_t mib = std::size_t{1} << 20;

// Every decision that is a matter of taste. A variant of llheap is another value of this struct, built as a
// library of its own.
struct config {
  // A block freed by a stranger goes home to the heap it came from. Off: it stays with the thread that freed
  // it, which saves the atomic push but lets a consumer hoard what its producer has to fetch anew.
  bool ownership = true;

  // Count calls and bytes by routine, and pushes and pulls of the remote lists. Costs some ten instructions
  // a call; without it malloc_stats knows storage only.
  bool statistics = false;

  // Check every pointer that comes back, fill blocks with 0xff, report at exit what was never freed. Costs
  // a walk over the list of areas a call; without it only a double free is noticed.
  bool debug = false;

  // Debug: how many bytes at either end of a block are overwritten when it is handed out and when it comes
  // back. More finds more uses of stale memory and costs more time.
  std::size_t scrub_bytes = 128;

  // Address space taken from the system at a time. Larger: fewer system calls, more address space idle; it
  // costs no memory before it is touched.
  std::size_t area_bytes = 128 * mib;

  // What a thread carves from the area for itself. Larger: the lock is taken less often; smaller: blocks of
  // different threads share huge pages sooner.
  std::size_t thread_buffer_bytes = 2 * mib;

  // Larger requests have a mapping of their own, given back when freed. Lower: large blocks cost a system
  // call and fresh page faults each time; higher: freed large blocks stay in the process for ever.
  std::size_t mapping_threshold = 32 * mib;

  // Heaps made at a time. More: fewer system calls when threads are many; untouched heaps cost no memory.
  std::size_t heaps_per_chunk = 32;
};

// The part of the configuration that a program may replace at start (see heaplab/llheap.h). Bytes, except
// heaps_per_chunk.
struct limits {
  std::size_t area_bytes;
  std::size_t thread_buffer_bytes;
  std::size_t mapping_threshold;
  std::size_t heaps_per_chunk;
};

constexpr limits limits_of(const config& from) {
  return {from.area_bytes, from.thread_buffer_bytes, from.mapping_threshold, from.heaps_per_chunk};
}

// The limits of a heap whose program has no say.
template <config Config>
struct fixed_policy {
  static limits at_start() { return limits_of(Config); }
};

}  // namespace heaplab::llheap
