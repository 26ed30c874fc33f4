// Blocks above span_block_limit: a mapping each (paper, section 5), known by a registry apart from them, so
// that blocks begin at pages and a pointer that is no block's is told from one that is.
//
// Mappings that are freed are kept for the next request of about their size, the newest first, up to a bound;
// what has been kept for longer than `retained_for` goes back at the next large request or free.
#pragma once

#include <time.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "allocators/scalloc/large_registry.h"
#include "base/bits.h"
#include "base/fatal.h"
#include "base/os_pages.h"
#include "concurrent/spin_lock.h"
#include "concurrent/sync.h"

namespace heaplab::scalloc {

class large_blocks {
public:
  // Bytes of freed mappings that may be kept.
  constexpr explicit large_blocks(std::size_t retained_limit) : retained_limit_(retained_limit) {}

  // `alignment` is a power of two; bytes + alignment <= PTRDIFF_MAX. Null: no memory.
  void* allocate(std::size_t bytes, std::size_t alignment, bool zeroed) {
    bytes = align_up(std::max(bytes, std::size_t{1}), page);
    char* block = nullptr;
    std::size_t mapped = bytes;
    {
      const holder hold(lock_);
      return_stale();
      block = take_retained(mapped, alignment);
    }
    if (block != nullptr) {
      if (zeroed) std::memset(block, 0, bytes);
    } else {
      block = static_cast<char*>(os_pages::reserve(bytes, alignment));
    }
    if (block == nullptr) return nullptr;
    const holder hold(lock_);
    if (registry_.add(block, mapped)) {
      live_bytes_ += mapped;
      return block;
    }
    os_pages::unmap(block, mapped);
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

  static std::int64_t now() {
    timespec time;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &time);
    return std::int64_t{time.tv_sec} * 1000 + time.tv_nsec / 1'000'000;
  }

  // The newest that is large enough and at most a quarter larger.
  char* take_retained(std::size_t& bytes, std::size_t alignment) {
    for (unsigned index = retained_count_; index-- > 0;) {
      const retained_mapping it = retained_[index];
      if (it.bytes < bytes || it.bytes > bytes + bytes / 4 || !is_aligned(it.block, alignment)) continue;
      remove_retained(index);
      bytes = it.bytes;
      return it.block;
    }
    return nullptr;
  }

  bool retain(char* block, std::size_t bytes) {
    if (bytes > retained_limit_) return false;
    while (retained_bytes_ + bytes > retained_limit_ || retained_count_ == retained_slots) return_oldest();
    retained_[retained_count_++] = {block, bytes, now()};
    retained_bytes_ += bytes;
    return true;
  }

  void return_stale() {
    while (retained_count_ > 0 && now() - retained_[0].since > retained_for) return_oldest();
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
