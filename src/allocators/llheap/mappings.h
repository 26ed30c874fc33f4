#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "allocators/llheap/block.h"
#include "allocators/llheap/config.h"
#include "base/atomic.h"
#include "base/bits.h"
#include "base/os_pages.h"
#include "base/platform.h"
#include "concurrent/sync.h"
#include "concurrent/unreturned_mappings.h"

namespace heaplab::llheap {

// Blocks that are mappings of their own: one header, then the user's bytes up to the end of the last page.
template <class Platform = system_platform>
class mappings {
public:
  // `user_bytes` at most PTRDIFF_MAX. Null: out of memory.
  header* map(std::size_t user_bytes) {
    const std::size_t bytes = whole_pages(user_bytes);
    header* const block = static_cast<header*>(obtain(bytes));
    if (block == nullptr) return nullptr;
    block->word = bytes | mapped;
    note(bytes);
    maps_.fetch_add(1, std::memory_order_relaxed);
    return block;
  }

  // Whether `place` can be the header of such a block.
  static bool can_be_header(const header* place) {
    const std::uintptr_t word = place->word;
    return is_aligned(place, os_pages::page_bytes()) && (word & (flag_bits ^ zero_filled)) == mapped &&
           (word & ~flag_bits) % os_pages::page_bytes() == 0 && (word & ~flag_bits) != 0;
  }

  // Unmaps all but the page of the header. That page stays until double_free_window more blocks have been
  // unmapped, so that a second free of the block is recognised.
  void unmap(header* block) {
    const std::size_t bytes = block->word & ~flag_bits;
    note(-bytes);
    const std::uint64_t turn = unmaps_.fetch_add(1, std::memory_order_relaxed);
    block->word = freed;
    if (!Platform::unmap(reinterpret_cast<char*>(block) + os_pages::page_bytes(),
                         bytes - os_pages::page_bytes()))
      return unreturned_.keep(block, bytes);
    replace_gone(gone_[turn % gone_.size()], block);
  }

  // Resizes a block by moving whole pages. Contents and flags stay, and added bytes are zero. Null: the
  // system refuses, as for pages of several kinds (madvise, mprotect on a part), and the block is as before.
  header* resize(header* block, std::size_t user_bytes) {
    const std::size_t before = block->word & ~flag_bits;
    const std::size_t after = whole_pages(user_bytes);
    void* const moved = Platform::remap(block, before, after);
    if (moved == nullptr) return nullptr;
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
    return align_up(user_bytes + sizeof(header), os_pages::page_bytes());
  }

  void* obtain(std::size_t bytes) {
    if (void* const place = unreturned_.try_take(bytes, os_pages::page_bytes())) return place;
    if (void* const place = Platform::allocate(bytes, os_pages::page_bytes())) return place;
    // The process may be at its limit of mappings, and each page that stays is one.
    for (auto& turn : gone_) replace_gone(turn, nullptr);
    return Platform::allocate(bytes, os_pages::page_bytes());
  }

  // acq_rel: the thread that put the oldest page here wrote to the page before, and this thread unmaps it.
  void replace_gone(atomic<header*>& turn, header* block) {
    header* const oldest = turn.exchange(block, std::memory_order_acq_rel);
    if (oldest != nullptr) unreturned_.release(oldest, os_pages::page_bytes());
  }

  // `change` may be negative, modulo 2^64. Relaxed: counters publish nothing.
  void note(std::size_t change) { bytes_.fetch_add(change, std::memory_order_relaxed); }

  atomic<std::size_t> bytes_{0};
  atomic<std::uint64_t> maps_{0};
  atomic<std::uint64_t> unmaps_{0};
  std::array<atomic<header*>, config::double_free_window> gone_{};  // headers of the blocks unmapped last
  concurrent::unreturned_mappings<concurrent::std_sync, Platform> unreturned_;
};

}  // namespace heaplab::llheap
