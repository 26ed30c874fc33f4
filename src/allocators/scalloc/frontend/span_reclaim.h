// How memory of spans goes back to the system: empty spans by the pool's decay and by malloc_trim, pages
// inside spans in use by a sweep (hole_sweep.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "allocators/scalloc/frontend/span_life.h"
#include "base/assertion.h"
#include "base/os_pages.h"

namespace heaplab::scalloc {

// Called by one sweep at a time, once for a span until end_purge. True: find() found holes, under the lock of
// the lists of the span's owner, and until end_purge nobody takes blocks from the span, which is not hot.
template <class Traits, class Find>
bool begin_purge(span_life<Traits>& life, span<Traits>& span, Find&& find) {
  lab<Traits>* const owner = span.owner(std::memory_order_acquire);
  if (owner == nullptr) return false;
  const concurrent::lock_holder hold(owner->lists_lock);
  if (span.owner(std::memory_order_relaxed) != owner) return false;
  HEAPLAB_ASSERT(span.purging == purge_state::none);
  const span_state state = span.load_word(std::memory_order_acquire).state();
  if (state != span_state::floating && state != span_state::reusable) return false;
  span.holes |= span.hot_holes.exchange(0, std::memory_order_relaxed);
  life.drain_if_sparse(span);
  if (!find()) return false;
  span.purging = purge_state::under_way;
  life.relist(*owner, span);
  return true;
}

// Nothing happens where begin_purge has not returned true before, as in the child of a fork.
template <class Traits>
void end_purge(span_life<Traits>& life, span<Traits>& span) {
  std::uint32_t column = 0;
  for (;;) {
    lab<Traits>* const owner = span.owner(std::memory_order_acquire);
    if (owner == nullptr) return;
    const concurrent::lock_holder hold(owner->lists_lock);
    if (span.owner(std::memory_order_relaxed) != owner) continue;
    const purge_state before = std::exchange(span.purging, purge_state::none);
    if (before != purge_state::under_way_and_free) return life.relist(*owner, span);
    if (span.hook.in != nullptr) span.hook.in->remove(span);
    life.disown(span);
    column = owner->column;
    break;
  }
  life.pool.put(life.arena, span, column);
}

// The background purge thread gives back records of free spans without memory once so many bytes of records
// may go. Less looks for them more often, at 9 ms for 32 MiB of records (docs/decisions/0042); so much may
// stay for good.
inline constexpr std::size_t record_sweep_bytes = 1 * mib;

// Purges memory that was not needed for a decay period; `now` is in ms. True if much is left.
template <class Traits>
bool purge_unneeded(span_life<Traits>& life, std::int64_t now) {
  life.pool.decay(life.arena, now);
  if (life.pool.retains_much()) return true;
  life.arena.keep_small_pages();
  life.pool.sweep_records(life.arena, record_sweep_bytes);
  return false;
}

// Applies every due event, then purges free memory but for about `pad` bytes. True if any was purged.
template <class Traits>
bool trim(span_life<Traits>& life, std::size_t pad) {
  life.arena.for_each_span([&life](span<Traits>& span) { life.apply_due_event(span, 0); });
  const bool any = life.pool.purge_all(life.arena, pad);
  life.pool.sweep_records(life.arena, os_pages::page_bytes());
  return any;
}

}  // namespace heaplab::scalloc
