// Blocks above span_block_limit: each has a mapping of its own (paper, section 5).
//
//   large_registry.h     which blocks are live. The registry lies apart from the blocks, so that blocks begin
//                        at pages, and a pointer to no block is recognised
//   retained_mappings.h  freed blocks that wait for the next requests
//   large_mappings.h     pages from the system, and huge pages
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "allocators/scalloc/large/large_mappings.h"
#include "allocators/scalloc/large/large_registry.h"
#include "allocators/scalloc/large/retained_mappings.h"
#include "allocators/scalloc/policy/config.h"
#include "base/assertion.h"
#include "base/fatal.h"
#include "base/os_pages.h"
#include "concurrent/futex_lock.h"

namespace heaplab::scalloc {

template <class Traits>
class large_blocks {
  using platform = typename Traits::platform;
  static constexpr const scalloc::config& config = Traits::config;
  // realloc to a smaller size gives pages back if that is more than 1/N of the block.
  static constexpr std::size_t shrink_divisor = 8;
  // Blocks that may have a mapping of the kernel's own each, of the 65 530 that a process usually may have
  // (vm.max_map_count). Further ones lie side by side, where the kernel joins them.
  static constexpr std::size_t most_spread = 1'024;

public:
  // Bytes of freed mappings that may be retained (retained_mappings.h).
  constexpr explicit large_blocks(std::size_t retained_limit) : retained_(retained_limit) {}

  // Both are called before a second thread can call anything here.
  void set_retained_limit(std::size_t bytes) { retained_.set_limit(bytes); }
  void allow_huge_pages() { mappings_.allow_huge_pages(); }

  // `alignment` is a power of two; bytes + alignment <= PTRDIFF_MAX. Null: no memory.
  void* allocate(std::size_t bytes, std::size_t alignment, bool zeroed) {
    mappings_.learn_from_blocks_in_use(bytes);
    bytes = mappings_.rounded(bytes);
    retained_mapping kept{};
    leaving leave;
    bool sparse;
    {
      const holder hold(lock_);
      retained_.decay(platform::milliseconds(), leave);
      kept = retained_.take(bytes, alignment);
      sparse = has_room_to_spread();
    }
    leave.release(mappings_);
    char* block = kept.block == nullptr ? nullptr : fit(kept, bytes, sparse);
    if (block == nullptr) {
      block = mappings_.map(bytes, alignment, sparse);
      kept.bytes = 0;
    }
    if (block == nullptr) return nullptr;
    if (zeroed || config.hardened) std::memset(block, 0, std::min(kept.bytes, bytes));
    bytes = std::max(kept.bytes, bytes);
    if (!zeroed && !config.hardened) mappings_.mark(block, bytes);
    if (add(block, bytes)) return block;
    mappings_.release(block, bytes);
    return nullptr;
  }

  // fatal() where no live block begins.
  void deallocate(void* block) {
    const std::size_t bytes = take_out(block);
    const bool is_filled = mappings_.learn(static_cast<char*>(block), bytes);
    if (!retain(static_cast<char*>(block), bytes, is_filled)) mappings_.release(block, bytes);
  }

  // fatal() where no live block begins.
  std::size_t usable_size(const void* block) {
    std::size_t bytes;
    {
      const holder hold(lock_);
      bytes = registry_.bytes_of(block);
    }
    if (bytes == 0) refuse(block);
    return bytes;
  }

  // Moves pages, or copies bytes where the system does not move these pages. Null: no memory, and nothing has
  // changed. fatal() where no live block begins.
  void* reallocate(void* block, std::size_t bytes) {
    bytes = mappings_.rounded(bytes);
    std::size_t before;
    if (void* const resized = try_resize(block, bytes, before)) return resized;
    if (before == 0) refuse(block);
    return bytes > before ? move(block, before, bytes) : block;
  }

  // Gives retained mappings back, the oldest first, until at most `pad` bytes are retained. True if there
  // were any.
  bool trim(std::size_t pad) {
    leaving leave;
    bool any;
    {
      const holder hold(lock_);
      HEAPLAB_ASSERT_EXPENSIVE(is_valid());
      any = retained_.trim(pad, leave);
    }
    leave.release(mappings_);
    return mappings_.release_refused() || any;
  }

  // Gives back what no request needed for a decay period. `now` is in ms.
  void decay(std::int64_t now) {
    leaving leave;
    {
      const holder hold(lock_);
      retained_.decay(now, leave);
    }
    leave.release(mappings_);
  }

  std::size_t live_bytes() {
    const holder hold(lock_);
    return live_.bytes();
  }
  std::size_t retained_bytes() {
    const holder hold(lock_);
    return retained_.bytes();
  }
  std::size_t count() {
    const holder hold(lock_);
    return registry_.count();
  }

  // What another thread was about to retain or to register is lost.
  void after_fork_in_child() {
    if (!lock_.was_held()) return;
    registry_.repair();
    retained_.forget_all();
    live_.set(registry_.total_bytes(), platform::milliseconds());
    lock_.forget_holder();
    HEAPLAB_ASSERT_EXPENSIVE(is_valid());
  }

  // Whether the accounts are right and no page is both live and retained. Walks the registry. For the holder
  // of the lock, or where there is no other thread.
  bool is_valid() const {
    bool is_apart = true;
    registry_.for_each([&](const char* block, std::size_t bytes) {
      is_apart = is_apart && !retained_.overlaps(block, bytes);
    });
    return is_apart && registry_.is_valid() && retained_.is_valid() &&
           registry_.total_bytes() == live_.bytes();
  }

private:
  using holder = concurrent::lock_holder<concurrent::futex_lock<typename Traits::sync>>;
  using leaving = leaving_mappings<Traits>;

  // Never under the lock: a handler of SIGABRT may allocate.
  [[noreturn]] static void refuse(const void* block) { fatal("not a live block", block); }

  // --- live blocks ---

  // Whether another block may have a mapping of the kernel's own. For the holder of the lock.
  bool has_room_to_spread() const { return registry_.count() < most_spread; }

  // False: no memory for a larger registry. Where the system refuses, another thread may have made room.
  bool add(char* block, std::size_t bytes) {
    typename large_registry<Traits>::spare larger;
    std::size_t wanted;
    for (bool is_refused = false;; is_refused = !larger.map(wanted)) {
      if (try_add(block, bytes, larger, wanted)) return true;
      if (is_refused) return false;
    }
  }

  // False: `larger` must be mapped with the capacity `wanted`, and nothing has changed.
  bool try_add(char* block, std::size_t bytes, typename large_registry<Traits>::spare& larger,
               std::size_t& wanted) {
    const holder hold(lock_);
    HEAPLAB_ASSERT(registry_.bytes_of(block) == 0);
    HEAPLAB_ASSERT_EXPENSIVE(!retained_.overlaps(block, bytes));
    wanted = registry_.next_capacity();
    if (!registry_.add(block, bytes, larger)) return false;
    live_.set(live_.bytes() + bytes, platform::milliseconds());
    return true;
  }

  // Returns the size of a block that is live no more; fatal() where no live block begins.
  std::size_t take_out(const void* block) {
    std::size_t bytes;
    {
      const holder hold(lock_);
      bytes = registry_.remove(block);
      live_.set(live_.bytes() - bytes, platform::milliseconds());
    }
    if (bytes == 0) refuse(block);
    return bytes;
  }

  // False: the block is to be given back.
  bool retain(char* block, std::size_t bytes, bool is_filled) {
    if (!mappings_.seal(block, bytes, is_filled)) return false;
    const std::int64_t now = platform::milliseconds();
    leaving leave;
    bool is_retained, is_much;
    {
      const holder hold(lock_);
      retained_.decay(now, leave);
      is_retained = retained_.put(block, bytes, live_, now, leave);
      is_much = retained_.bytes() >= config.idle_purge_bytes;
    }
    leave.release(mappings_);
    if (is_much) Traits::ask_for_purge();
    return is_retained;
  }

  // --- other sizes ---

  // Null: the system refuses, or `before` is 0 because no live block begins there; nothing has changed. The
  // system moves the pages without the lock. Until then the block is in no registry, because another thread's
  // block may come to lie where this one was.
  void* try_resize(void* block, std::size_t bytes, std::size_t& before) {
    bool sparse;
    {
      const holder hold(lock_);
      before = registry_.bytes_of(block);
      if (before == 0) return nullptr;
      // A small excess is kept: to give back so few pages does not pay for a system call.
      if (bytes <= before && bytes >= before - before / shrink_divisor) return block;
      registry_.begin_move(block);
      live_.set(live_.bytes() - before, platform::milliseconds());
      sparse = has_room_to_spread();
    }
    auto* const start = static_cast<char*>(block);
    mappings_.learn_from_growth(start, before, bytes);
    char* const resized = mappings_.resize(start, before, bytes, sparse);
    const std::size_t after = resized == nullptr ? before : bytes;
    const holder hold(lock_);
    registry_.end_move(resized == nullptr ? start : resized, after);
    live_.set(live_.bytes() + after, platform::milliseconds());
    return resized;
  }

  // Copies a block into a larger one. The old pages are not retained: the program may have made some of them
  // of a kind (locked, not to be written or inherited) that the next user does not expect.
  void* move(void* block, std::size_t before, std::size_t bytes) {
    void* const moved = allocate(bytes, os_pages::page_bytes(), false);
    if (moved == nullptr) return nullptr;
    std::memcpy(moved, block, before);
    mappings_.release(block, take_out(block));
    return moved;
  }

  // Turns a retained mapping into a block of `bytes`: makes the mapping accessible and grows a smaller one.
  // If the system refuses, gives the mapping back and returns null.
  char* fit(const retained_mapping& kept, std::size_t bytes, bool sparse) {
    char* grown = mappings_.unseal(kept.block, kept.bytes, sparse) ? kept.block : nullptr;
    if (grown != nullptr && kept.bytes < bytes)
      grown = mappings_.resize(kept.block, kept.bytes, bytes, sparse);
    if (grown == nullptr) mappings_.release(kept.block, kept.bytes);
    return grown;
  }

  concurrent::futex_lock<typename Traits::sync> lock_;
  large_registry<Traits> registry_;
  large_mappings<Traits> mappings_;
  live_account<Traits> live_;
  retained_mappings<Traits> retained_;
};

}  // namespace heaplab::scalloc
