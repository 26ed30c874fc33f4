// Blocks above span_block_limit: a mapping each (paper, section 5), known by a registry apart from them, so
// that blocks begin at pages and a pointer that is no block's is told from one that is.
//
// Mappings that are freed are kept for the next requests up to a bound. A request takes the smallest that is
// large enough and leaves the rest of it, or else the largest, and makes it larger: either way it touches no
// more new pages than it must. What has been kept for longer than `retained_for` goes back at the next large
// request or free.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "allocators/scalloc/config.h"
#include "allocators/scalloc/large_registry.h"
#include "base/bits.h"
#include "base/coarse_clock.h"
#include "base/fatal.h"
#include "base/os_pages.h"
#include "concurrent/spin_lock.h"
#include "concurrent/sync.h"

namespace heaplab::scalloc {

class large_blocks {
public:
  // Bytes of freed mappings that may be kept. Within that no more than 16 MiB and a quarter of what is live,
  // unless the newest alone is more.
  constexpr explicit large_blocks(std::size_t retained_limit) : retained_limit_(retained_limit) {}

  // Once, before there are threads that use it.
  void set_retained_limit(std::size_t bytes) { retained_limit_ = bytes; }

  // `alignment` is a power of two; bytes + alignment <= PTRDIFF_MAX. Null: no memory.
  void* allocate(std::size_t bytes, std::size_t alignment, bool zeroed) {
    bytes = align_up(std::max(bytes, std::size_t{1}), page);
    retained_mapping kept{};
    {
      const holder hold(lock_);
      return_stale();
      kept = take_retained(bytes, alignment);
    }
    char* block = kept.block == nullptr ? nullptr : fit(kept, bytes);
    if (block == nullptr) {
      block = static_cast<char*>(os_pages::reserve(bytes, alignment));
      kept.bytes = 0;
    }
    if (block == nullptr) return nullptr;
    if (zeroed) std::memset(block, 0, std::min(kept.bytes, bytes));
    bytes = std::max(kept.bytes, bytes);
    const holder hold(lock_);
    if (registry_.add(block, bytes)) {
      live_bytes_ += bytes;
      return block;
    }
    os_pages::unmap(block, bytes);
    return nullptr;
  }

  void deallocate(void* block) {
    std::size_t bytes;
    {
      const holder hold(lock_);
      bytes = registry_.remove(block);
      if (bytes == 0) refuse(block);
      live_bytes_ -= bytes;
      return_stale();
      if (retain(static_cast<char*>(block), bytes)) return;
    }
    os_pages::unmap(block, bytes);
  }

  std::size_t usable_size(const void* block) {
    const holder hold(lock_);
    const std::size_t bytes = registry_.bytes_of(block);
    if (bytes == 0) refuse(block);
    return bytes;
  }

  // Moves pages, not bytes. Null: no memory, and nothing has changed.
  void* reallocate(void* block, std::size_t bytes) {
    bytes = align_up(bytes, page);
    // Under the lock throughout: another thread's mapping may come to lie where this one was.
    const holder hold(lock_);
    const std::size_t before = registry_.bytes_of(block);
    if (before == 0) refuse(block);
    // A little less is no reason to give pages back.
    if (bytes <= before && bytes >= before - before / 8) return block;
    void* const moved = os_pages::remap(block, before, bytes);
    if (moved == nullptr) return nullptr;
    live_bytes_ += bytes - before;
    registry_.remove(block);
    // There is room: an entry has just been removed.
    registry_.add(static_cast<char*>(moved), bytes);
    return moved;
  }

  // Gives all kept mappings back. True if there were any.
  bool trim() {
    const holder hold(lock_);
    const bool any = retained_count_ > 0;
    while (retained_count_ > 0) return_oldest();
    return any;
  }

  std::size_t live_bytes() const { return live_bytes_; }
  std::size_t retained_bytes() const { return retained_bytes_; }
  std::size_t count() const { return registry_.count(); }
  auto& lock() { return lock_; }

private:
  using holder = concurrent::lock_holder<concurrent::spin_lock<concurrent::std_sync>>;
  static constexpr std::size_t page = os_pages::page_bytes;
  static constexpr unsigned retained_slots = 64;
  static constexpr std::int64_t retained_for = 1'000;  // ms

  struct retained_mapping {
    char* block;
    std::size_t bytes;
    std::int64_t since;  // ms
  };

  [[noreturn]] static void refuse(const void* block) { fatal("not a live block", block); }

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

  // Null, and the mapping gone, where the system refuses.
  static char* fit(const retained_mapping& kept, std::size_t bytes) {
    if (kept.bytes >= bytes) return kept.block;
    void* const grown = os_pages::remap(kept.block, kept.bytes, bytes);
    if (grown == nullptr) os_pages::unmap(kept.block, kept.bytes);
    return static_cast<char*>(grown);
  }

  bool retain(char* block, std::size_t bytes) {
    if (bytes > retained_limit_) return false;
    const std::size_t bound = std::min(retained_limit_, std::max(bytes, 16 * mib + live_bytes_ / 4));
    while (retained_bytes_ + bytes > bound || retained_count_ == retained_slots) return_oldest();
    retained_[retained_count_++] = {block, bytes, coarse_milliseconds()};
    retained_bytes_ += bytes;
    return true;
  }

  void return_stale() {
    while (retained_count_ > 0 && coarse_milliseconds() - retained_[0].since > retained_for) return_oldest();
  }

  void return_oldest() {
    const retained_mapping it = retained_[0];
    remove_retained(0);
    os_pages::unmap(it.block, it.bytes);
  }

  void remove_retained(unsigned index) {
    retained_bytes_ -= retained_[index].bytes;
    --retained_count_;
    for (; index < retained_count_; ++index) retained_[index] = retained_[index + 1];
  }

  concurrent::spin_lock<concurrent::std_sync> lock_;
  large_registry registry_;
  std::size_t live_bytes_ = 0;

  std::size_t retained_limit_;
  std::size_t retained_bytes_ = 0;
  unsigned retained_count_ = 0;
  retained_mapping retained_[retained_slots] = {};  // oldest first
};

}  // namespace heaplab::scalloc
