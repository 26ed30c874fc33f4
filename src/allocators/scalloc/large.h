// Blocks above span_block_limit: a mapping each (paper, section 5), known by a registry apart from them, so
// that blocks begin at pages and a pointer that is no block's is told from one that is.
//
// Blocks of 4 MiB and more begin at huge pages, so that there is room between them and each is a mapping of
// the kernel's; where there are many, the next ones lie side by side and the kernel makes one mapping of
// them.
//
// Mappings that are freed are kept for the next requests up to a bound. A request takes the smallest that is
// large enough and leaves the rest of it, or else the largest, and makes it larger: either way it touches no
// more new pages than it must. What has been kept for longer than `retained_for` goes back at the next large
// request or free.
//
// Blocks of 4 MiB and more are whole huge pages once such a block was freed that had been touched throughout:
// a page fault then brings 512 pages. A program that never fills its large blocks holds no more than it
// touches.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "allocators/scalloc/config.h"
#include "allocators/scalloc/large_registry.h"
#include "base/atomic.h"
#include "base/bits.h"
#include "base/coarse_clock.h"
#include "base/fatal.h"
#include "base/os_pages.h"
#include "concurrent/futex_lock.h"
#include "concurrent/sync.h"
#include "concurrent/unreturned_mappings.h"

namespace heaplab::scalloc {

class large_blocks {
public:
  // Bytes of freed mappings that may be kept. Within that no more than 8 MiB and an eighth of what is live,
  // and no more than what is live now has lately been less than its peak, unless the newest alone is more.
  constexpr explicit large_blocks(std::size_t retained_limit) : retained_limit_(retained_limit) {}

  // Once, before there are threads that use it.
  void set_retained_limit(std::size_t bytes) { retained_limit_ = bytes; }
  void allow_huge_pages() { may_be_huge_ = true; }

  // `alignment` is a power of two; bytes + alignment <= PTRDIFF_MAX. Null: no memory.
  void* allocate(std::size_t bytes, std::size_t alignment, bool zeroed) {
    bytes = rounded(bytes);
    retained_mapping kept{};
    bool sparse;
    {
      const holder hold(lock_);
      return_stale();
      kept = take_retained(bytes, alignment);
      sparse = registry_.count() < most_sparse;
    }
    char* block = kept.block == nullptr ? nullptr : fit(kept, bytes);
    if (block == nullptr) {
      block = map_new(bytes, alignment, sparse);
      kept.bytes = 0;
    }
    if (block == nullptr) return nullptr;
    if (zeroed) std::memset(block, 0, std::min(kept.bytes, bytes));
    bytes = std::max(kept.bytes, bytes);
    const holder hold(lock_);
    if (registry_.add(block, bytes)) {
      set_live(live_bytes_ + bytes);
      return block;
    }
    unreturned_.give_back(block, bytes);
    return nullptr;
  }

  void deallocate(void* block) {
    std::size_t bytes;
    bool retained = false;
    {
      const holder hold(lock_);
      bytes = forget(block);
      if (bytes > 0) {
        learn(static_cast<char*>(block), bytes);
        return_stale();
        retained = retain(static_cast<char*>(block), bytes);
      }
    }
    if (bytes == 0) refuse(block);
    if (!retained) unreturned_.give_back(block, bytes);
  }

  std::size_t usable_size(const void* block) {
    const std::size_t bytes = bytes_of(block);
    if (bytes == 0) refuse(block);
    return bytes;
  }

  // Moves pages, or bytes where the system does not move these pages. Null: no memory, and nothing has
  // changed.
  void* reallocate(void* block, std::size_t bytes) {
    bytes = rounded(bytes);
    std::size_t before;
    if (void* const resized = try_resize(block, bytes, before)) return resized;
    if (before == 0) refuse(block);
    return bytes > before ? move(block, before, bytes) : block;
  }

  // Gives kept mappings back, the oldest first, until no more than `pad` bytes are kept. True if there were
  // any.
  bool trim(std::size_t pad) {
    bool any = unreturned_.give_all_back();
    const holder hold(lock_);
    while (retained_bytes_ > pad) {
      return_oldest();
      any = true;
    }
    return any;
  }

  std::size_t live_bytes() {
    const holder hold(lock_);
    return live_bytes_;
  }
  std::size_t retained_bytes() {
    const holder hold(lock_);
    return retained_bytes_;
  }
  std::size_t count() {
    const holder hold(lock_);
    return registry_.count();
  }

  // What another thread was about to keep or to add is lost.
  void after_fork_in_child() {
    if (!lock_.was_held()) return;
    registry_.repair();
    retained_count_ = 0;
    retained_bytes_ = 0;
    lock_.forget_holder();
  }

private:
  using holder = concurrent::lock_holder<concurrent::futex_lock<concurrent::std_sync>>;
  static constexpr std::size_t page = os_pages::page_bytes;
  static constexpr unsigned retained_slots = 64;
  static constexpr std::int64_t retained_for = 1'000;  // ms
  static constexpr std::size_t huge_page = os_pages::huge_page_bytes;
  // Blocks that may be mappings of the kernel's own, of the 65 530 that are usual.
  static constexpr std::size_t most_sparse = 1'024;

  struct retained_mapping {
    char* block;
    std::size_t bytes;
    std::int64_t since;  // ms
  };

  // Never under the lock: a handler of SIGABRT may allocate.
  [[noreturn]] static void refuse(const void* block) { fatal("not a live block", block); }

  // --- live blocks; 0 bytes: there is none ---

  std::size_t bytes_of(const void* block) {
    const holder hold(lock_);
    return registry_.bytes_of(block);
  }

  // For the holder of the lock.
  std::size_t forget(const void* block) {
    const std::size_t bytes = registry_.remove(block);
    set_live(live_bytes_ - bytes);
    return bytes;
  }

  // --- other sizes ---

  // Null: the system refuses, or there is no such block; nothing has changed. Under the lock throughout:
  // another thread's mapping may come to lie where this one was.
  void* try_resize(void* block, std::size_t bytes, std::size_t& before) {
    const holder hold(lock_);
    before = registry_.bytes_of(block);
    // A little less is no reason to give pages back.
    if (bytes <= before && bytes >= before - before / 8) return before == 0 ? nullptr : block;
    if (before == 0) return nullptr;
    void* const resized = resize(static_cast<char*>(block), before, bytes);
    if (resized == nullptr) return nullptr;
    forget(block);
    // There is room: an entry has just been removed.
    registry_.add(static_cast<char*>(resized), bytes);
    set_live(live_bytes_ + bytes);
    return resized;
  }

  // To a block that is larger. What it leaves is not kept: its pages may be of a kind (locked, not to be
  // written or inherited) that nobody else expects.
  void* move(void* block, std::size_t before, std::size_t bytes) {
    void* const moved = allocate(bytes, page, false);
    if (moved == nullptr) return nullptr;
    std::memcpy(moved, block, before);
    std::size_t left;
    {
      const holder hold(lock_);
      left = forget(block);
    }
    if (left == 0) refuse(block);
    unreturned_.give_back(block, left);
    return moved;
  }

  // --- retained mappings ---

  // The smallest of at least `bytes`, else the largest; null if none has the alignment. One that must grow
  // may move, to any page.
  retained_mapping take_retained(std::size_t bytes, std::size_t alignment) {
    unsigned best = retained_slots;
    for (unsigned index = retained_count_; index-- > 0;) {
      const std::size_t size = retained_[index].bytes;
      if (!is_aligned(retained_[index].block, alignment) || (size < bytes && alignment > page)) continue;
      if (best == retained_slots || is_better(size, retained_[best].bytes, bytes)) best = index;
    }
    if (best == retained_slots) return {};
    const retained_mapping found = retained_[best];
    // A little more is not worth an entry.
    if (found.bytes <= bytes + bytes / 16) {
      remove_retained(best);
      return found;
    }
    retained_[best].block += bytes;
    retained_[best].bytes -= bytes;
    retained_bytes_ -= bytes;
    return {found.block, bytes, found.since};
  }

  static bool is_better(std::size_t one, std::size_t other, std::size_t wanted) {
    if (one >= wanted) return other < wanted || one < other;
    return other < wanted && one > other;
  }

  // --- huge pages ---

  static bool is_huge(std::size_t bytes) { return bytes >= 2 * huge_page; }

  std::size_t rounded(std::size_t bytes) const {
    const bool huge = wants_huge_.load(std::memory_order_relaxed) && is_huge(bytes);
    return align_up(std::max(bytes, std::size_t{1}), huge ? huge_page : page);
  }

  // Begins at a huge page if it can hold some, wanted or not: whole page tables move when it is resized.
  char* map_new(std::size_t bytes, std::size_t alignment, bool sparse) {
    void* block = unreturned_.try_take(bytes, alignment);
    if (block == nullptr && sparse && is_huge(bytes))
      block = os_pages::allocate(bytes, std::max(alignment, huge_page));
    if (block == nullptr) block = os_pages::allocate(bytes, alignment);
    return with_huge_pages(block, bytes);
  }

  // Null: the system refuses, and nothing has changed.
  char* resize(char* block, std::size_t before, std::size_t bytes) const {
    void* const resized = is_huge(bytes) && bytes > before
                              ? os_pages::remap_aligned(block, before, bytes, huge_page)
                              : os_pages::remap(block, before, bytes);
    return with_huge_pages(resized, bytes);
  }

  char* with_huge_pages(void* block, std::size_t bytes) const {
    if (block != nullptr && is_huge(bytes) && wants_huge_.load(std::memory_order_relaxed))
      os_pages::advise_huge(block, bytes, true);
    return static_cast<char*>(block);
  }

  // Looks at one page in each of 16 parts.
  void learn(const char* block, std::size_t bytes) {
    if (!may_be_huge_ || wants_huge_.load(std::memory_order_relaxed) || !is_huge(bytes)) return;
    const std::size_t stride = align_down(bytes / 16, page);
    for (std::size_t at = 0; at < bytes; at += stride)
      if (!os_pages::is_resident(block + at)) return;
    wants_huge_.store(true, std::memory_order_relaxed);
  }

  // Null, and the mapping gone, where the system refuses.
  char* fit(const retained_mapping& kept, std::size_t bytes) {
    if (kept.bytes >= bytes) return kept.block;
    char* const grown = resize(kept.block, kept.bytes, bytes);
    if (grown == nullptr) unreturned_.give_back(kept.block, kept.bytes);
    return grown;
  }

  bool retain(char* block, std::size_t bytes) {
    if (bytes > retained_limit_) return false;
    const std::size_t share = std::min(8 * mib + live_bytes_ / 8, lately_live() - live_bytes_);
    const std::size_t bound = std::min(retained_limit_, std::max(bytes, share));
    while (retained_bytes_ + bytes > bound || retained_count_ == retained_slots) return_oldest();
    retained_[retained_count_++] = {block, bytes, coarse_milliseconds()};
    retained_bytes_ += bytes;
    return true;
  }

  // The most that was live at a time, of this period and the one before.
  std::size_t lately_live() const { return std::max(peak_, peak_before_); }

  void set_live(std::size_t bytes) {
    const std::int64_t now = coarse_milliseconds();
    if (now - period_start_ > retained_for) {
      peak_before_ = now - period_start_ > 2 * retained_for ? live_bytes_ : peak_;
      peak_ = live_bytes_;
      period_start_ = now;
    }
    live_bytes_ = bytes;
    peak_ = std::max(peak_, bytes);
  }

  void return_stale() {
    while (retained_count_ > 0 && coarse_milliseconds() - retained_[0].since > retained_for) return_oldest();
  }

  void return_oldest() {
    const retained_mapping it = retained_[0];
    remove_retained(0);
    unreturned_.give_back(it.block, it.bytes);
  }

  void remove_retained(unsigned index) {
    retained_bytes_ -= retained_[index].bytes;
    --retained_count_;
    for (; index < retained_count_; ++index) retained_[index] = retained_[index + 1];
  }

  concurrent::futex_lock<concurrent::std_sync> lock_;
  large_registry registry_;
  concurrent::unreturned_mappings<concurrent::std_sync> unreturned_;
  std::size_t live_bytes_ = 0;
  std::size_t peak_ = 0, peak_before_ = 0;
  std::int64_t period_start_ = 0;  // ms
  bool may_be_huge_ = false;
  atomic<bool> wants_huge_ = false;

  std::size_t retained_limit_;
  std::size_t retained_bytes_ = 0;
  unsigned retained_count_ = 0;
  retained_mapping retained_[retained_slots] = {};  // oldest first
};

}  // namespace heaplab::scalloc
