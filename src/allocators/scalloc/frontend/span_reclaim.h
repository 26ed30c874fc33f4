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

template <class Traits>
class span_reclaim {
  using span_type = span<Traits>;
  using lab_type = lab<Traits>;

public:
  // The background purge thread gives back records of free spans without memory once so many bytes of records
  // may go. Less looks for them more often, at 9 ms for 32 MiB of records (docs/decisions/0042); so much may
  // stay for good.
  static constexpr std::size_t record_sweep_bytes = 1 * mib;

  explicit span_reclaim(span_life<Traits>& life) : life_(life) {}

  // Called by one sweep at a time, once for a span until end_purge. True: find() found holes, under the lock
  // of the lists of the span's owner, and until end_purge nobody takes blocks from the span, which is not
  // hot.
  template <class Find>
  bool begin_purge(span_type& span, Find&& find);
  // Nothing happens where begin_purge has not returned true before, as in the child of a fork.
  void end_purge(span_type& span);

  // Called by the background purge thread: purges what span_pool::give_way has left.
  void give_way_further() { life_.pool().give_way_further(life_.spans()); }

  // Purges memory that was not needed for a decay period; `now` is in ms. True if much is left.
  bool purge_unneeded(std::int64_t now);

  // Applies every due event, then purges free memory but for about `pad` bytes. True if any was purged.
  bool trim(std::size_t pad);

private:
  span_life<Traits>& life_;
};

template <class Traits>
template <class Find>
bool span_reclaim<Traits>::begin_purge(span_type& span, Find&& find) {
  lab_type* const owner = span.owner(std::memory_order_acquire);
  if (owner == nullptr) return false;
  const concurrent::lock_holder hold(owner->lists_lock);
  if (span.owner(std::memory_order_relaxed) != owner) return false;
  HEAPLAB_ASSERT(span.purging == purge_state::none);
  const span_state state = span.load_word(std::memory_order_acquire).state();
  if (state != span_state::floating && state != span_state::reusable) return false;
  span.holes |= span.hot_holes.exchange(0, std::memory_order_relaxed);
  life_.drain_if_sparse(span);
  if (!find()) return false;
  span.purging = purge_state::under_way;
  life_.place(*owner, span);
  return true;
}

template <class Traits>
void span_reclaim<Traits>::end_purge(span_type& span) {
  std::uint32_t column = 0;
  for (;;) {
    lab_type* const owner = span.owner(std::memory_order_acquire);
    if (owner == nullptr) return;
    const concurrent::lock_holder hold(owner->lists_lock);
    if (span.owner(std::memory_order_relaxed) != owner) continue;
    const purge_state before = std::exchange(span.purging, purge_state::none);
    if (before != purge_state::under_way_and_free) return life_.place(*owner, span);
    if (span.hook.in != nullptr) span.hook.in->remove(span);
    life_.disown(span);
    column = owner->column;
    break;
  }
  life_.pool().put(life_.spans(), span, column);
}

template <class Traits>
bool span_reclaim<Traits>::purge_unneeded(std::int64_t now) {
  life_.pool().decay(life_.spans(), now);
  if (life_.pool().retains_much()) return true;
  life_.spans().keep_small_pages();
  life_.pool().sweep_records(life_.spans(), record_sweep_bytes);
  return false;
}

template <class Traits>
bool span_reclaim<Traits>::trim(std::size_t pad) {
  life_.spans().for_each_span([this](span_type& span) { life_.apply_due_event(span, 0); });
  const bool any = life_.pool().purge_all(life_.spans(), pad);
  life_.pool().sweep_records(life_.spans(), os_pages::page_bytes());
  return any;
}

}  // namespace heaplab::scalloc
