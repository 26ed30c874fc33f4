// How scalloc-hardened frees a block. The block is checked and overwritten (block_checks.h) and goes into the
// thread's quarantine; the block that leaves quarantine for it goes back to its span.
#pragma once

#include <cstddef>

#include "allocators/scalloc/arena/empty_blocks.h"
#include "allocators/scalloc/frontend/calling_thread.h"
#include "allocators/scalloc/frontend/freeing.h"
#include "allocators/scalloc/frontend/span_life.h"
#include "allocators/scalloc/large/large.h"
#include "allocators/scalloc/spans/block_checks.h"
#include "base/compiler.h"

namespace heaplab::scalloc {

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
    if (void* const oldest = thread::buffer()->quarantine.exchange(block)) release(oldest);
  }

  // Gives a block back that leaves quarantine.
  HEAPLAB_FAST_PATH static void release(void* block) {
    span_type& span = Life.arena.fine_span_at(Life.arena.step_of(block));
    check_untouched(span, block);
    bool due;
    if (!try_deallocate(*thread::buffer(), span, block, due)) [[unlikely]]
      return release_later(span, block);
    if (due) [[unlikely]]
      after_free(span);
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

  [[gnu::noinline]] static void release_later(span_type& span, void* block) {
    Traits::ensure_open();
    deallocate_later(Life, *thread::buffer(), span, block);
  }

  // --- rare ---

  HEAPLAB_SLOW_PATH static void after_free(span_type& span) {
    Traits::ensure_open();
    scalloc::after_free(Life, *thread::buffer(), span);
  }

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
