// steady: every call with a size executes the same instructions, whatever the program did before. For
// benchmarks that count instructions, under callgrind or by a counter: the count changes when the program
// changes, and not because the heap was in another state.
//
// Basic design. The heap is one range of addresses, the same in every run, with a region for each size class.
// A region holds blocks of one size, side by side, and its free blocks are a stack.
//
//   region   | block | block | block | block | never used ...
//   link    +2      0       -3      0       0     0     0     in blocks, counted from the block behind
//
// A free block begins with a link: the distance from the block behind it to the next free block. Memory from
// the system is zero, and a link of zero leads to the neighbour, so that the blocks of a new region are a
// stack in the order of addresses, and nobody has to make blocks of memory (concurrent/neighbour_stack.h).
// malloc pops and free pushes. There is no second path: nothing is split, joined, cached by thread, given
// back to the system, or timed.
//
// What still differs. Which block is handed out depends on the order of frees. All blocks begin at a cache
// line and fill whole lines, so that memcpy, memset and strlen take the same path for each, and no two blocks
// share a line. Page faults and caches differ as they do anywhere: the time is not steady.
//
// Known flaws, all by design: no memory is ever given back to the system, and that of one class serves no
// other; a small block takes a cache line; double frees and pointers into blocks pass unnoticed; threads meet
// at one word for each class, and try again where they meet.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "allocators/steady/size_classes.h"
#include "base/atomic.h"
#include "base/cache_line.h"
#include "base/compiler.h"
#include "base/fatal.h"
#include "base/heap_concept.h"
#include "base/narrow.h"
#include "base/os_pages.h"
#include "base/text_line.h"
#include "concurrent/neighbour_stack.h"

namespace heaplab::steady {

class steady_heap {
public:
  static constexpr const char* name = "steady";

  HEAPLAB_FAST_PATH static void* allocate(std::size_t size) noexcept {
    if (size > largest_block) [[unlikely]]
      return nullptr;
    // acquire pairs with begin(): the memory is mapped.
    std::uint64_t range = range_.load(std::memory_order_acquire);
    if (range == none) [[unlikely]]
      if (range = begin(); range == none) return nullptr;
    return pop(range, class_of(size));
  }

  static void* allocate_zeroed(std::size_t size) noexcept {
    void* const block = allocate(size);
    return block == nullptr ? nullptr : std::memset(block, 0, size);
  }

  // A block whose size is a power of two lies at a multiple of its size, as its region does.
  static void* allocate_aligned(std::size_t alignment, std::size_t size) noexcept {
    if (alignment <= cache_line_bytes) return allocate(size);
    const std::size_t least = std::max(alignment, size);
    return least > largest_block ? nullptr : allocate(std::bit_ceil(least));
  }

  HEAPLAB_FAST_PATH static void deallocate(void* block) noexcept { push(place_of(block)); }

  static std::size_t usable_size(void* block) noexcept {
    return lines_of_class[place_of(block).size_class] * cache_line_bytes;
  }

  static void* reallocate(void* block, std::size_t size) noexcept {
    return size <= usable_size(block) ? block : reallocate_by_copy<steady_heap>(block, size);
  }

  static bool trim(std::size_t) noexcept { return false; }

  // Nothing else is counted: it would be work in every call.
  static heap_statistics statistics() noexcept {
    const std::uint64_t range = range_.load(std::memory_order_relaxed);
    return {.reserved = range == none ? 0 : class_count << log2_of(range)};
  }

  // No locks: a forked child goes on with a copy of the stacks.
  static void after_fork_in_child() noexcept {}

  static void print_statistics(int file) noexcept {
    text_line()
        .add("steady: ")
        .add_decimal(statistics().reserved)
        .add(" bytes of addresses, blocks are not counted")
        .write_to(file);
  }

private:
  // The first address of the heap, and below it the log2 of a region's bytes.
  static constexpr std::uint64_t none = 0, log2_mask = 63;
  static constexpr unsigned largest_region_log2 = largest_block_log2, least_region_log2 = 21;
  // Where the heap begins in every run, if the addresses are free: below those that Linux gives out itself.
  static constexpr std::uint64_t usual_start = std::uint64_t{0x30} << largest_region_log2;
  // Bytes of each of the smallest classes that are touched when the heap begins. Page faults execute no
  // instructions of the program, but later ones would take time.
  static constexpr std::size_t touched_bytes = std::size_t{64} << 10, touched_classes = 28;

  using stack = concurrent::neighbour_stack<concurrent::std_sync,
                                            largest_region_log2 - log2_floor(cache_line_bytes) + 1>;

  struct place {
    std::uint64_t size_class;
    std::uint64_t line;  // in the region of the class
  };

  static constexpr unsigned log2_of(std::uint64_t range) { return low_bits<unsigned>(range & log2_mask); }

  HEAPLAB_FAST_PATH static place place_of(const void* block) {
    const std::uint64_t range = range_.load(std::memory_order_relaxed);
    const std::uint64_t offset = reinterpret_cast<std::uintptr_t>(block) - (range & ~log2_mask);
    const std::uint64_t size_class = offset >> log2_of(range);
    if (size_class >= class_count) [[unlikely]]
      fatal("this address is no block's", block);
    return {size_class, (offset - (size_class << log2_of(range))) / cache_line_bytes};
  }

  // The links of the blocks of a region, by line: at the beginning of each block.
  struct links {
    char* region;

    HEAPLAB_FAST_PATH char* block_at(std::uint64_t line) const { return region + line * cache_line_bytes; }
    HEAPLAB_FAST_PATH atomic_ref<std::uint64_t> operator()(std::uint64_t line) const {
      return atomic_ref<std::uint64_t>(*reinterpret_cast<std::uint64_t*>(block_at(line)));
    }
  };

  HEAPLAB_FAST_PATH static links links_in(std::uint64_t range, std::uint64_t size_class) {
    return {reinterpret_cast<char*>((range & ~log2_mask) + (size_class << log2_of(range)))};
  }

  HEAPLAB_FAST_PATH static void* pop(std::uint64_t range, unsigned size_class) {
    const links region = links_in(range, size_class);
    const std::uint64_t end = (std::uint64_t{1} << log2_of(range)) / cache_line_bytes;
    const std::uint64_t line = stacks_[size_class].pop(lines_of_class[size_class], end, region);
    if (line == stack::none) [[unlikely]]
      return nullptr;
    return region.block_at(line);
  }

  HEAPLAB_FAST_PATH static void push(place freed) {
    const links region = links_in(range_.load(std::memory_order_relaxed), freed.size_class);
    stacks_[freed.size_class].push(freed.line, lines_of_class[freed.size_class], region);
  }

  // Maps the heap, smaller where the process may not have as much address space. Threads that begin it at the
  // same time both map a range, and the range of one is taken.
  HEAPLAB_SLOW_PATH static std::uint64_t begin() noexcept {
    for (unsigned log2 = largest_region_log2; log2 >= least_region_log2; --log2) {
      const std::size_t bytes = std::size_t{class_count} << log2;
      void* start = os_pages::reserve_at(reinterpret_cast<void*>(usual_start), bytes);
      if (start == nullptr) start = os_pages::reserve(bytes, std::size_t{1} << log2);
      if (start == nullptr) continue;
      for (std::size_t size_class = 0; size_class < touched_classes; ++size_class)
        os_pages::populate(static_cast<char*>(start) + (size_class << log2), touched_bytes);
      std::uint64_t range = none;
      const std::uint64_t mine = reinterpret_cast<std::uintptr_t>(start) | log2;
      // release pairs with allocate().
      if (range_.compare_exchange_strong(range, mine, std::memory_order_release, std::memory_order_acquire))
        return mine;
      os_pages::unmap(start, bytes);
      return range;
    }
    return none;
  }

  static constinit inline stack stacks_[class_count];
  static constinit inline atomic<std::uint64_t> range_{none};
};

}  // namespace heaplab::steady
