#pragma once

#include <sys/mman.h>

#include <array>
#include <cstddef>
#include <cstdint>

#include "allocators/llheap/block.h"
#include "base/atomic.h"
#include "base/bits.h"
#include "base/os_pages.h"

namespace heaplab::llheap {

// Blocks that are mappings of their own: one header, then the user's bytes up to the end of the last page.
class mappings {
public:
  // `user_bytes` at most PTRDIFF_MAX. Null: out of memory.
  header* map(std::size_t user_bytes) {
    const std::size_t bytes = whole_pages(user_bytes);
    header* const block = static_cast<header*>(os_pages::allocate(bytes));
    if (block == nullptr) return nullptr;
    block->word = bytes | mapped;
    note(bytes);
    maps_.fetch_add(1, std::memory_order_relaxed);
    return block;
  }

  // Whether this can be the header of such a block.
  static bool can_be_header(const header* place) {
    const std::uintptr_t word = place->word;
    return is_aligned(place, os_pages::page_bytes) && (word & (flag_bits ^ zero_filled)) == mapped &&
           (word & ~flag_bits) % os_pages::page_bytes == 0 && (word & ~flag_bits) != 0;
  }

  // The page of the header stays until some more blocks have been unmapped, so that a double free is known.
  void unmap(header* block) {
    const std::size_t bytes = block->word & ~flag_bits;
    note(-bytes);
    const std::uint64_t turn = unmaps_.fetch_add(1, std::memory_order_relaxed);
    os_pages::unmap(reinterpret_cast<char*>(block) + os_pages::page_bytes, bytes - os_pages::page_bytes);
    block->word = freed;
    // acq_rel: the page that is unmapped here was last written by who put it there.
    header* const oldest = gone_[turn % gone_.size()].exchange(block, std::memory_order_acq_rel);
    if (oldest != nullptr) os_pages::unmap(oldest, os_pages::page_bytes);
  }

  // Keeps contents and flags; may move by whole pages; what is added is zero. Null: out of memory, block
  // untouched.
  header* resize(header* block, std::size_t user_bytes) {
    const std::size_t before = block->word & ~flag_bits;
    const std::size_t after = whole_pages(user_bytes);
    const os_pages::errno_keeper keep;
    void* const moved = ::mremap(block, before, after, MREMAP_MAYMOVE);
    if (moved == MAP_FAILED) return nullptr;
    header* const result = static_cast<header*>(moved);
    result->word = after | (result->word & flag_bits);
    note(after - before);
    return result;
  }

  std::size_t bytes() const { return bytes_.load(std::memory_order_relaxed); }
  std::uint64_t maps() const { return maps_.load(std::memory_order_relaxed); }
  std::uint64_t unmaps() const { return unmaps_.load(std::memory_order_relaxed); }

private:
  static std::size_t whole_pages(std::size_t user_bytes) {
    return align_up(user_bytes + sizeof(header), os_pages::page_bytes);
  }
  // `change` may be negative, modulo 2^64. Relaxed: counters publish nothing.
  void note(std::size_t change) { bytes_.fetch_add(change, std::memory_order_relaxed); }

  atomic<std::size_t> bytes_{0};
  atomic<std::uint64_t> maps_{0};
  atomic<std::uint64_t> unmaps_{0};
  std::array<atomic<header*>, 16> gone_{};  // headers of the blocks unmapped last
};

}  // namespace heaplab::llheap
