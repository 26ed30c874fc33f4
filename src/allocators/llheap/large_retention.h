#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "allocators/llheap/block.h"
#include "base/atomic.h"
#include "base/bits.h"
#include "base/os_pages.h"
#include "base/platform.h"

namespace heaplab::llheap {

// Bounds the memory of free blocks that are large. A free block keeps its pages while the bound allows; else
// they go back to the system, but for the first, which has the link. The second word of the free block says
// how many bytes count as retained. Any thread may call, with a block that no other thread can reach.
template <class Platform = system_platform>
class large_retention {
public:
  constexpr explicit large_retention(std::size_t limit) : limit_(limit) {}

  // The block becomes free.
  void put(header* block, std::size_t bytes) {
    block->second = bytes;
    // relaxed: a sum that publishes nothing.
    if (bytes_.fetch_add(bytes, std::memory_order_relaxed) + bytes <= limit_) return;
    const std::size_t page = os_pages::page_bytes();
    const auto start = reinterpret_cast<std::uintptr_t>(block);
    const std::uintptr_t second_page = align_up(start + sizeof(header), page);
    const std::uintptr_t end = align_down(start + bytes, page);
    // Locked pages stay.
    if (!Platform::purge(reinterpret_cast<void*>(second_page), end - second_page)) return;
    block->second = 0;
    bytes_.fetch_sub(bytes, std::memory_order_relaxed);
  }

  // The free block will be used.
  void take(const header* block) { bytes_.fetch_sub(block->second, std::memory_order_relaxed); }

  std::size_t bytes() const { return bytes_.load(std::memory_order_relaxed); }

private:
  std::size_t limit_;
  atomic<std::size_t> bytes_{0};
};

}  // namespace heaplab::llheap
