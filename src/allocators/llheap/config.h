#pragma once

#include <algorithm>
#include <cstddef>

#include "base/bits.h"
#include "base/os_pages.h"

namespace heaplab::llheap {

inline constexpr std::size_t kib = std::size_t{1} << 10;
inline constexpr std::size_t mib = std::size_t{1} << 20;

// Every knob of llheap, each with what follows from its value. A variant is another value of this struct,
// built as a library of its own.
struct config {
  // A block that another thread frees returns to the heap it came from. Off: the block stays with the thread
  // that freed it, which saves the atomic push but lets a consumer hoard what its producer has to fetch anew.
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
  // A block above 1/N of a thread's buffer comes from the area directly. With a smaller N, a block that does
  // not fit leaves more of the buffer unused; with a larger N, the lock is taken more often.
  std::size_t direct_carve_divisor = 4;

  // realloc to a smaller size stays in place where at least 1/N of the block is used, or where no smaller
  // block would be had. A larger N copies less and leaves more of a block unused.
  std::size_t shrink_divisor = 2;

  // Larger requests have a mapping of their own, given back when freed. Lower: large blocks cost a system
  // call and fresh page faults each time; higher: the addresses of freed large blocks stay in the process for
  // ever.
  std::size_t mapping_threshold = 32 * mib;

  // Free blocks above large_block_bytes keep their pages while they have no more than retained_large_bytes
  // together; the pages of others go back to the system, but for the first of each. Less retained: a program
  // that frees many large blocks and allocates as many again pays page faults.
  std::size_t large_block_bytes = 512 * kib;
  std::size_t retained_large_bytes = 64 * mib;

  // The headers of this many freed mapped blocks stay mapped, so that a second free of such a block is
  // recognised. Each costs a page.
  static constexpr std::size_t double_free_window = 16;

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

// The limits brought into their ranges (heaplab/llheap.h).
constexpr limits in_range(limits wanted) {
  constexpr std::size_t buffer_unit = 64 * kib, most_buffer = 64 * mib, most_area = std::size_t{1} << 40;
  constexpr std::size_t most_heaps = 4096;
  wanted.thread_buffer_bytes =
      align_up(std::clamp(wanted.thread_buffer_bytes, buffer_unit, most_buffer), buffer_unit);
  wanted.area_bytes = align_up(std::clamp(wanted.area_bytes, wanted.thread_buffer_bytes, most_area),
                               os_pages::huge_page_bytes);
  wanted.heaps_per_chunk = std::clamp(wanted.heaps_per_chunk, std::size_t{1}, most_heaps);
  return wanted;
}

// The limits of a heap whose program has no say.
template <config Config>
struct fixed_policy {
  static limits at_start() { return limits_of(Config); }
};

}  // namespace heaplab::llheap
