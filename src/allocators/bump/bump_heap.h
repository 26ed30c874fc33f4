// bump: the lower bound of what an allocator can cost. A measuring rod, not for use.
//
// Basic design. Each thread cuts blocks from the front of a chunk of its own; malloc is an addition and a
// comparison, and free does nothing at all. No memory is ever used twice or given back.
//
//   chunk  [ length | block ][ length | block ][ length | block ] ... never touched ...
//                                                              ^ next_
//
// The 8 bytes before a block hold its usable size, which realloc and malloc_usable_size must know: no malloc
// can do with less. A chunk is 4 MiB; a block larger than a quarter of a chunk gets pages of its own.
//
// How to read its results. Time: no allocator that reuses memory executes fewer instructions. But bump pays a
// page fault for every new page, so that a program that frees is often *faster* with a good allocator: bump
// bounds the instructions, not the time of programs larger than the cache. Memory: all bytes ever allocated,
// the upper bound. Locality: allocation order, whatever was freed.
//
// Known flaws, all by design: memory runs out in long runs; the rest of a thread's chunk (address space, not
// memory) is lost when the thread ends; double frees and foreign pointers pass unnoticed.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/atomic.h"
#include "base/bits.h"
#include "base/compiler.h"
#include "base/heap_concept.h"
#include "base/os_pages.h"
#include "base/text_line.h"

namespace heaplab::bump {

class bump_heap {
public:
  static constexpr const char* name = "bump";

  HEAPLAB_FAST_PATH static void* allocate(std::size_t size) noexcept {
    if (!fits(next_, size)) [[unlikely]]
      return allocate_slow(heap_alignment, size);
    return take(next_, size);
  }

  // All memory is new, and new memory is zero.
  static void* allocate_zeroed(std::size_t size) noexcept { return allocate(size); }

  static void* allocate_aligned(std::size_t alignment, std::size_t size) noexcept {
    char* const block = align(next_, alignment);
    if (block > end_ || !fits(block, size)) return allocate_slow(alignment, size);
    return take(block, size);
  }

  HEAPLAB_FAST_PATH static void deallocate(void*) noexcept {}

  static std::size_t usable_size(void* block) noexcept { return length_of(block); }

  static void* reallocate(void* block, std::size_t size) noexcept {
    return size <= usable_size(block) ? block : reallocate_by_copy<bump_heap>(block, size);
  }

  static bool trim(std::size_t) noexcept { return false; }

  static heap_statistics statistics() noexcept {
    const std::size_t mapped = mapped_.load(std::memory_order_relaxed);
    return {.reserved = mapped, .committed = mapped, .live = mapped, .mapped = 0, .mappings = 0};
  }

  // No locks: a forked child goes on with a copy of the chunks.
  static void after_fork_in_child() noexcept {}

  static void print_statistics(int file) noexcept {
    text_line()
        .add("bump: ")
        .add_decimal(mapped_.load(std::memory_order_relaxed))
        .add(" bytes mapped, none ever freed")
        .write_to(file);
  }

private:
  static constexpr std::size_t chunk_bytes = std::size_t{4} << 20;
  static constexpr std::size_t header_bytes = sizeof(std::size_t);

  static std::size_t& length_of(void* block) { return static_cast<std::size_t*>(block)[-1]; }

  static char* align(char* address, std::size_t alignment) {
    return reinterpret_cast<char*>(align_up(reinterpret_cast<std::uintptr_t>(address), alignment));
  }

  // The distance from a block to the next block; wraps for sizes that no chunk has.
  static constexpr std::size_t stride(std::size_t size) {
    return align_up(size + header_bytes, heap_alignment);
  }

  // block <= end_; both are null before the first chunk.
  HEAPLAB_FAST_PATH static bool fits(const char* block, std::size_t size) {
    const auto left = static_cast<std::size_t>(end_ - block);
    return size < left && stride(size) <= left;
  }

  HEAPLAB_FAST_PATH static void* take(char* block, std::size_t size) {
    length_of(block) = stride(size) - header_bytes;
    next_ = block + stride(size);
    return block;
  }

  HEAPLAB_SLOW_PATH static void* allocate_slow(std::size_t alignment, std::size_t size) noexcept {
    if (size > PTRDIFF_MAX - alignment) return nullptr;
    if (size + alignment > chunk_bytes / 4) return allocate_alone(alignment, size);
    char* const chunk = map(chunk_bytes, os_pages::page_bytes());
    if (chunk == nullptr) return nullptr;
    next_ = chunk + heap_alignment;
    end_ = chunk + chunk_bytes;
    return take(align(next_, alignment), size);
  }

  // The header takes a whole step of the alignment.
  static void* allocate_alone(std::size_t alignment, std::size_t size) noexcept {
    const std::size_t bytes = align_up(size + alignment, os_pages::page_bytes());
    char* const start = map(bytes, alignment);
    if (start == nullptr) return nullptr;
    length_of(start + alignment) = bytes - alignment;
    return start + alignment;
  }

  static char* map(std::size_t bytes, std::size_t alignment) {
    void* const start = os_pages::allocate(bytes, alignment);
    if (start != nullptr) mapped_.fetch_add(bytes, std::memory_order_relaxed);
    return static_cast<char*>(start);
  }

  // The place of the calling thread's next block, and the end of its chunk.
  static constinit inline thread_local char* next_ = nullptr;
  static constinit inline thread_local char* end_ = nullptr;
  // A sum for statistics: ordered with nothing.
  static constinit inline atomic<std::size_t> mapped_ = 0;
};

}  // namespace heaplab::bump
