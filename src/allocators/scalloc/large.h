// Blocks above span_block_limit: a mapping each (paper, section 5).
//
//   | ...   header | block ...                           |
//   ^ mapping      ^ a multiple of 64 and of the alignment ^ end
#pragma once

#include <sys/mman.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/bits.h"
#include "base/cache_line.h"
#include "base/fatal.h"
#include "base/os_pages.h"

namespace heaplab::scalloc {

class large_blocks {
public:
  // All bytes zero. `alignment` is a power of two; bytes + alignment <= PTRDIFF_MAX. Null: no memory.
  void* allocate(std::size_t bytes, std::size_t alignment) {
    if (alignment < header_bytes) alignment = header_bytes;
    char* start = static_cast<char*>(os_pages::reserve(align_up(bytes + alignment, page), alignment));
    if (start == nullptr) return nullptr;
    char* const block = start + alignment;
    char* const end = start + align_up(bytes + alignment, page);
    // Of the gap that a wide alignment leaves, only the page of the header is kept.
    char* const kept = alignment > page ? block - page : start;
    os_pages::unmap(start, static_cast<std::size_t>(kept - start));
    add(static_cast<std::size_t>(end - kept));
    write_header(block, kept, static_cast<std::size_t>(end - kept));
    return block;
  }

  void deallocate(void* block) {
    header& head = header_of(block);
    const header copy = head;
    head.mark = 0;
    subtract(copy.mapping_bytes);
    os_pages::unmap(copy.mapping, copy.mapping_bytes);
  }

  std::size_t usable_size(void* block) { return usable(header_of(block), block); }

  // Moves pages, not bytes. Null: no memory, and nothing has changed. Alignment above 64 is not kept.
  void* reallocate(void* block, std::size_t bytes) {
    header& head = header_of(block);
    const std::size_t before = static_cast<std::size_t>(static_cast<char*>(block) - head.mapping);
    const std::size_t wanted = align_up(before + bytes, page);
    if (wanted == head.mapping_bytes) return block;
    const header old = head;
    void* const moved = os_pages::remap(old.mapping, old.mapping_bytes, wanted);
    if (moved == nullptr) return nullptr;
    subtract(old.mapping_bytes);
    add(wanted);
    char* const start = static_cast<char*>(moved);
    write_header(start + before, start, wanted);
    return start + before;
  }

  std::size_t bytes() const { return bytes_.load(std::memory_order_relaxed); }
  std::size_t count() const { return count_.load(std::memory_order_relaxed); }

private:
  struct header {
    std::uint64_t mark;
    char* mapping;
    std::size_t mapping_bytes;
  };
  static constexpr std::size_t header_bytes = cache_line_bytes;
  static constexpr std::size_t page = os_pages::page_bytes;

  // Differs for every address, so that a stale copy of a header is not taken for one.
  static std::uint64_t mark_of(const void* block) {
    return reinterpret_cast<std::uintptr_t>(block) ^ 0x9d3c'5b21'e84f'a607U;
  }

  static header& header_of(void* block) {
    header* const head = reinterpret_cast<header*>(static_cast<char*>(block) - header_bytes);
    if (!is_aligned(block, header_bytes) || head->mark != mark_of(block)) fatal("not a live block", block);
    return *head;
  }

  static void write_header(char* block, char* mapping, std::size_t mapping_bytes) {
    *reinterpret_cast<header*>(block - header_bytes) = {mark_of(block), mapping, mapping_bytes};
  }

  static std::size_t usable(const header& head, const void* block) {
    return static_cast<std::size_t>(head.mapping + head.mapping_bytes - static_cast<const char*>(block));
  }

  // Sums for statistics: ordered with nothing.
  void add(std::size_t bytes) {
    bytes_.fetch_add(bytes, std::memory_order_relaxed);
    count_.fetch_add(1, std::memory_order_relaxed);
  }
  void subtract(std::size_t bytes) {
    bytes_.fetch_sub(bytes, std::memory_order_relaxed);
    count_.fetch_sub(1, std::memory_order_relaxed);
  }

  std::atomic<std::size_t> bytes_{0};
  std::atomic<std::size_t> count_{0};
};

}  // namespace heaplab::scalloc
