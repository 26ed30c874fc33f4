// The moves of a span's life: the transitions of span_state.h, the lists that follow them, and invariants.
// Included by span_life.h.
#pragma once

#include <optional>
#include <utility>

#include "allocators/scalloc/frontend/span_life.h"
#include "base/narrow.h"

namespace heaplab::scalloc {

template <class Traits>
bool span_life<Traits>::open(const tuning& chosen, unsigned columns) {
  for (unsigned index = 0; index < classes::count; ++index) {
    const auto blocks = narrow<std::int32_t>(classes::table[index].blocks);
    const auto part = [blocks](unsigned percent) { return blocks * narrow<std::int32_t>(percent) / 100; };
    const unsigned refill_percent = std::min(Traits::config.refill_percent, chosen.reuse_percent);
    limits_[index] = {.reuse_live = blocks - part(chosen.reuse_percent) - 1,
                      .refill_count = part(refill_percent) + 1,
                      .eager_return = Traits::config.eager_return};
  }
  pool.open(columns, chosen);
  return arena.open(chosen.arena_bytes, chosen.huge_pages);
}

template <class Traits>
void span_life<Traits>::make_floating(lab_type& local, span_type& hot) {
  const unsigned class_index = hot.class_index.load(std::memory_order_relaxed);
  HEAPLAB_ASSERT(hot.is_hot_in(local, class_index));
  // All blocks of a dry span are out, so that its count is known and is set anew. In a child of fork the old
  // count may miss a block that was taken and not yet counted; the span would stay reusable, and dry, for
  // ever.
  const auto blocks = narrow<std::int32_t>(classes::table[class_index].blocks);
  const bool is_dry = hot.local_list == nullptr && hot.fresh == classes::table[class_index].blocks &&
                      hot.holes == 0 && hot.hot_holes.load(std::memory_order_relaxed) == 0;
  hot.set_used(is_dry ? blocks : hot.used(), event_floor(span_state::floating, class_index));
  span_word seen = hot.load_word(std::memory_order_relaxed);
  do {
    hot.set_owner(&local, seen.remote_count() > 0 ? span_type::attention : 0);
    // seq_cst: publishes the counts and the local list to the thread that applies an event or reuses the
    // span, and orders them before the load of the word in apply_due_event.
  } while (!hot.try_move(seen, seen.retire(), std::memory_order_seq_cst));
}

template <class Traits>
void span_life<Traits>::retire(lab_type& local, span_type& hot) {
  make_floating(local, hot);
  sync_list(hot);
  apply_due_event(hot, local.column);
}

template <class Traits>
std::optional<span_event> span_life<Traits>::move_if_due(span_type& span) {
  // seq_cst: after this thread's change of one count, and before its load of the other (Dekker pattern).
  span_word seen = span.load_word(std::memory_order_seq_cst);
  for (;;) {
    const unsigned class_index = span.class_index.load(std::memory_order_relaxed);
    // The counts are read after the word: if the compare-and-swap finds the word unchanged, the counts are of
    // its tenure.
    const std::int32_t live = span.used() - narrow<std::int32_t>(seen.remote_count());
    const std::optional<span_event> event = due_event(seen.state(), live, limits_[class_index]);
    if (!event) return event;
    if (live < 0 && span.load_word(std::memory_order_seq_cst) == seen)
      fatal("a block was freed twice in the span of", span.base);
    const span_word next = *event == span_event::all_free ? seen.all_free() : seen.mostly_free();
    if (span.try_move(seen, next, std::memory_order_acq_rel)) return event;
  }
}

// The word is read before the counts, as in move_if_due.
template <class Traits>
HEAPLAB_FAST_PATH bool span_life<Traits>::may_be_due(const span_type& span) const {
  const span_word seen = span.load_word(std::memory_order_seq_cst);
  const std::int32_t live = span.used() - narrow<std::int32_t>(seen.remote_count());
  return live <= event_floor(seen.state(), span.class_index.load(std::memory_order_relaxed));
}

template <class Traits>
HEAPLAB_OUT_OF_LINE bool span_life<Traits>::apply_event(span_type& span, std::uint32_t column) {
  const std::optional<span_event> event = move_if_due(span);
  if (event == span_event::all_free)
    return_span(span, column);
  else if (event)
    sync_list(span);
  return event.has_value();
}

// The list of `owner` where the span belongs, mostly as its word says; null: none.
template <class Traits>
auto* span_life<Traits>::list_of(lab_type& owner, const span_type& span) {
  if (span.purging != purge_state::none) return &owner.purging;
  const unsigned class_index = span.class_index.load(std::memory_order_relaxed);
  const span_state state = span.load_word(std::memory_order_acquire).state();
  return state == span_state::floating   ? &owner.floating[class_index]
         : state == span_state::reusable ? &owner.reusable[class_index]
                                         : nullptr;
}

template <class Traits>
void span_life<Traits>::relist(lab_type& owner, span_type& span) {
  auto* const list = list_of(owner, span);
  if (span.hook.in != nullptr && span.hook.in != list) span.hook.in->remove(span);
  if (list != nullptr) list->put_newest(span);
}

// Puts the span into the list of its owner that its word names. Correct for any span at any time, by any
// thread.
template <class Traits>
void span_life<Traits>::sync_list(span_type& span) {
  while (lab_type* const owner = span.owner(std::memory_order_acquire)) {
    const concurrent::lock_holder hold(owner->lists_lock);
    if (span.owner(std::memory_order_relaxed) == owner) return relist(*owner, span);
  }
}

template <class Traits>
void span_life<Traits>::enlist(span_type& span, const lab_type& owner) {
  if constexpr (has_lists) {
    const unsigned list = owner.lists.own_list(span.class_index.load(std::memory_order_relaxed));
    if (arena.list_of(span) != list) arena.set_list(span, narrow<std::uint8_t>(list));
  }
}

template <class Traits>
void span_life<Traits>::disown(span_type& span) {
  if constexpr (has_lists) arena.set_list(span, 0);
  span.set_owner(nullptr);
}

template <class Traits>
void span_life<Traits>::drain_if_sparse(span_type& span) {
  if constexpr (!has_lists) return;
  const auto remote = narrow<std::int32_t>(span.load_word(std::memory_order_relaxed).remote_count());
  const auto blocks =
      narrow<std::int32_t>(classes::table[span.class_index.load(std::memory_order_relaxed)].blocks);
  if (2 * (span.used() - remote) < blocks) arena.set_list(span, 0);
}

template <class Traits>
void span_life<Traits>::return_span(span_type& span, std::uint32_t column) {
  while (lab_type* const owner = span.owner(std::memory_order_acquire)) {
    const concurrent::lock_holder hold(owner->lists_lock);
    if (span.owner(std::memory_order_relaxed) != owner) continue;
    if (span.purging != purge_state::none) {
      span.purging = purge_state::under_way_and_free;
      return;
    }
    if (span.hook.in != nullptr) span.hook.in->remove(span);
    disown(span);
  }
  pool.put(arena, span, column);
  pool.decay_without_purge_thread(arena);
}

template <class Traits>
bool span_life<Traits>::clear_attention(lab_type& local, span_type& span) {
  const span_word seen = span.load_word(std::memory_order_seq_cst);
  if (seen.remote_count() > 0) return true;
  const std::int32_t floor = event_floor(seen.state(), span.class_index.load(std::memory_order_relaxed));
  if (floor < span.countdown_floor.load(std::memory_order_relaxed)) span.lower_floor(floor);
  span.set_owner(&local, 0, std::memory_order_seq_cst);
  if (span.load_word(std::memory_order_seq_cst) == seen) return true;
  // The store to the owner may have erased the attention bit of that remote free.
  span.ask_for_attention();
  return false;
}

template <class Traits>
std::int32_t span_life<Traits>::event_floor(span_state state, unsigned class_index) const {
  return state == span_state::floating ? std::max(limits_[class_index].reuse_live, 0) : 0;
}

template <class Traits>
void span_life<Traits>::count_event(lab_type& local, const span_type& span) {
  if (!Traits::config.purges_holes || !local.adopts) return;
  local.emptied_bytes += classes::table[span.class_index.load(std::memory_order_relaxed)].real_span_bytes;
  if (local.emptied_bytes < Traits::config.hole_sweep_bytes) [[likely]]
    return;
  local.emptied_bytes = 0;
  if (arena.carved_bytes() >= Traits::config.hole_sweep_bytes) Traits::ask_for_purge();
}

template <class Traits>
void span_life<Traits>::adopt(lab_type& local, span_type& span) {
  {
    const concurrent::lock_holder hold(orphanage.lists_lock);
    if (span.owner(std::memory_order_relaxed) != &orphanage) return;
    const span_state state = span.load_word(std::memory_order_acquire).state();
    if (state != span_state::floating && state != span_state::reusable) return;
    if (span.hook.in != nullptr) span.hook.in->remove(span);
    span.set_owner(&local, span_type::attention);
  }
  sync_list(span);
}

// Hands at most `most` spans over, the oldest first. Returns how many of `most` are left. Called by the
// holder of the locks of both lists.
template <class Traits>
unsigned span_life<Traits>::abandon_oldest(list_type& from, list_type& to, unsigned most) {
  for (; most > 0; --most) {
    span_type* const span = from.take_oldest();
    if (span == nullptr) break;
    span->set_owner(&orphanage);
    to.put_newest(*span);
  }
  return most;
}

// Whether the owner of `local` has neither allocated from a class nor freed into it since the last look. Each
// malloc and each free changes the list and the count of the hot span; a class that has come back to both
// needs no more spans either.
template <class Traits>
bool span_life<Traits>::is_idle(lab_type& local, unsigned class_index) {
  const span_type& hot = *local.hot[class_index];
  const auto list = low_bits<std::uint32_t>(reinterpret_cast<std::uintptr_t>(hot.local_list) >> step_shift);
  std::uint32_t seen = list ^ low_bits<std::uint32_t>(hot.countdown.read_own());
  if constexpr (has_lists) seen ^= local.lists.trace_of(class_index);
  return std::exchange(local.last_seen[class_index], seen) == seen;
}

template <class Traits>
void span_life<Traits>::abandon_idle(lab_type& local) {
  if (Traits::config.idle_class_spans == 0 || Traits::sync::is_alone()) return;
  // A thread whose destructors have run uses the orphanage itself.
  if (&local == &orphanage) return;
  const unsigned index = local.class_to_look_at;
  if (local.reusable[index].looks_empty() || !is_idle(local, index)) {
    local.class_to_look_at = (index + 1) % classes::count;
    return;
  }
  const concurrent::lock_holder hold_own(local.lists_lock);
  const concurrent::lock_holder hold(orphanage.lists_lock);
  abandon_oldest(local.reusable[index], orphanage.reusable[index], Traits::config.idle_class_spans);
}

template <class Traits>
bool span_life<Traits>::abandon_some(lab_type& local) {
  const concurrent::lock_holder hold_own(local.lists_lock);
  const concurrent::lock_holder hold(orphanage.lists_lock);
  unsigned left = Traits::config.abandon_step;
  for (unsigned index = 0; index < classes::count; ++index) {
    left = abandon_oldest(local.floating[index], orphanage.floating[index], left);
    left = abandon_oldest(local.reusable[index], orphanage.reusable[index], left);
  }
  left = abandon_oldest(local.purging, orphanage.purging, left);
  HEAPLAB_ASSERT_EXPENSIVE(local.is_valid() && orphanage.is_valid());
  return left == 0;
}

// --- invariants ---

template <class Traits>
bool span_life<Traits>::is_listed(const span_type& span) const {
  lab_type* const owner = span.owner(std::memory_order_seq_cst);
  const unsigned class_index = span.class_index.load(std::memory_order_relaxed);
  if (span.purging != purge_state::none) return owner->purging.contains(span);
  switch (span.load_word(std::memory_order_seq_cst).state()) {
    case span_state::floating:
      return owner->floating[class_index].contains(span);
    case span_state::reusable:
      return owner->reusable[class_index].contains(span);
    default:
      return span.hook.in == nullptr;
  }
}

template <class Traits>
bool span_life<Traits>::is_in_page_map(const span_type& span) const {
  if constexpr (!has_lists) return true;
  const unsigned class_index = span.class_index.load(std::memory_order_relaxed);
  const size_class& kind = classes::table[class_index];
  const span_state state = span.load_word(std::memory_order_seq_cst).state();
  const unsigned list = arena.list_of(span);
  const bool may_be_listed = state != span_state::free && kind.most_cached > 0;
  if (list != 0 && (list_numbers<Traits::config>::class_of[list] != class_index || !may_be_listed))
    return false;
  if (list == 0 && may_be_listed && state == span_state::hot) return false;
  for (std::uint32_t number = 0; number < kind.blocks; ++number)
    if (arena.list_of(span.block_at(number, kind)) != list) return false;
  return true;
}

template <class Traits>
bool span_life<Traits>::has_no_due_event(const span_type& span) const {
  const span_word word = span.load_word(std::memory_order_seq_cst);
  const std::int32_t live = span.used() - narrow<std::int32_t>(word.remote_count());
  const unsigned class_index = span.class_index.load(std::memory_order_relaxed);
  return due_event(word.state(), live, limits_[class_index]) == std::nullopt;
}

}  // namespace heaplab::scalloc
