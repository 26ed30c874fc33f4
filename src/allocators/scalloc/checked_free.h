// How scalloc-hardened frees a block, and its blocks of no bytes. A freed block is checked and overwritten
// (block_checks.h) and goes into the thread's quarantine; blocks that leave quarantine go back to their spans
// together.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "allocators/scalloc/arena/arena.h"
#include "allocators/scalloc/frontend/calling_thread.h"
#include "allocators/scalloc/frontend/freeing.h"
#include "allocators/scalloc/frontend/returned_blocks.h"
#include "allocators/scalloc/frontend/span_life.h"
#include "allocators/scalloc/hardened/live_map.h"
#include "allocators/scalloc/large/large.h"
#include "allocators/scalloc/policy/size_classes.h"
#include "allocators/scalloc/spans/block_checks.h"
#include "base/compiler.h"
#include "base/narrow.h"

namespace heaplab::scalloc {

// Blocks of no bytes: addresses in fine spans that are guards (arena.h), so that a program which
// reads or writes there is stopped. The live map of the guard knows which addresses are handed out. Any
// thread may call; there is no lock, and a child of fork finds each address handed out or not.
template <class Traits>
class empty_blocks {
  static constexpr const scalloc::config& config = Traits::config;

public:
  // Null: no address was found, because there is no guard or many are handed out.
  void* allocate(arena<Traits>& spans) {
    const std::size_t guards = spans.guard_places();
    for (std::size_t tries = guards == 0 ? 0 : most_tries; tries > 0; --tries) {
      // relaxed: a number publishes nothing. What was freed last is handed out again last.
      const std::size_t number = next_.fetch_add(1, std::memory_order_relaxed);
      const std::size_t place = number / granules % guards * guarded_span_period;
      span<Traits>& guard = spans.span_number(narrow<std::uint32_t>(place));
      const std::size_t granule = number % granules;
      if (guard.secrets.is_of_guard() && guard.live.try_begin(granule))
        return guard.base + granule * class_step;
    }
    return nullptr;
  }

private:
  static constexpr std::size_t granules = live_map<Traits>::granules, most_tries = 64;

  typename Traits::template atomic<std::size_t> next_{0};
};

// The program gives a block of no bytes back.
template <class Traits>
void withdraw_empty(span<Traits>& guard, void* block) {
  if (!guard.live.end(guard.secrets.granule_of(block))) refuse_address(guard, block);
}

template <class Traits, span_life<Traits>& Life, large_blocks<Traits>& Large>
class checked_free {
  using span_type = span<Traits>;
  using thread = calling_thread<Traits, Life>;

public:
  // Any address.
  HEAPLAB_FAST_PATH static void deallocate(void* block) {
    const std::size_t step = Life.arena.step_of(block);
    if (!Life.arena.in_carved_fine_zone(step)) [[unlikely]]
      return deallocate_elsewhere(block);
    span_type& span = Life.arena.fine_span_at(step);
    if (!span.is_quietly_owned_by(*thread::buffer())) [[unlikely]]
      return deallocate_of_other(span, block);
    withdraw_own(span, block);
    if (!has_small_blocks(span)) [[unlikely]]
      return wipe_and_quarantine(span, block);
    wipe_small(span, block);
    quarantine(block);
  }

private:
  HEAPLAB_FAST_PATH static void quarantine(void* block) {
    if (thread::buffer()->quarantine.add(block)) [[unlikely]]
      release_older();
  }

  // Blocks that leave quarantine go home.
  [[gnu::noinline, gnu::flatten]] static void release_older() {
    Traits::ensure_open();
    returned_blocks back(Life, *thread::buffer());
    thread::buffer()->quarantine.drain_older([&back](void* block) {
      span_type& span = Life.arena.fine_span_of(block);
      check_untouched(span, block);
      back.add(span, freed_block{block});
    });
  }

  // --- out of line, for the registers that calls need; not rare ---

  [[gnu::noinline]] static void wipe_and_quarantine(span_type& span, void* block) {
    wipe_fine(span, block);
    quarantine(block);
  }

  // A block of the fine zone, of another owner, where others have freed blocks of the span, or of no bytes.
  [[gnu::noinline]] static void deallocate_of_other(span_type& span, void* block) {
    Traits::ensure_open();
    if (span.secrets.is_of_guard()) [[unlikely]]
      return withdraw_empty(span, block);
    withdraw_fine(span, block);
    wipe_fine(span, block);
    if (!thread::has_buffer_to_free()) [[unlikely]]
      return send_home(Life, *thread::buffer(), span, block);
    quarantine(block);
  }

  // --- rare ---

  // Blocks of the coarse zone, with mappings of their own, null, and what is no block. None goes into
  // quarantine: few of them could pin much memory.
  HEAPLAB_SLOW_PATH static void deallocate_elsewhere(void* block) {
    if (block == nullptr) return;
    Traits::ensure_open();
    span_type* const span = Life.arena.find(block);
    if (span == nullptr) return Large.deallocate(block);
    withdraw(*span, block);
    send_home(Life, *thread::buffer(), *span, block);
  }
};

}  // namespace heaplab::scalloc
