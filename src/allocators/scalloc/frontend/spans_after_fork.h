// Spans in the child of a fork, whose other threads vanished at any instruction of theirs. Included by
// span_life.h.
#pragma once

#include "allocators/scalloc/frontend/span_life.h"

namespace heaplab::scalloc {

template <class Traits>
bool span_life<Traits>::forget_torn_lists(lab_type& local) {
  if (!local.lists_lock.was_held()) return false;
  for (auto& list : local.floating) list.forget_all();
  for (auto& list : local.reusable) list.forget_all();
  local.purging.forget_all();
  return true;
}

// A thread that takes a span from its owner first removes the span from the owner's list, under the same
// lock. So a span is in no list but its present owner's, at whatever instruction a thread was stopped.
template <class Traits>
void span_life<Traits>::refill_torn_lists() {
  arena.for_each_span([](span_type& span) {
    lab_type* const owner = span.owner(std::memory_order_relaxed);
    if (owner == nullptr || !owner->lists_lock.was_held()) return;
    span.hook = {};
    if (auto* const list = list_of(*owner, span)) list->put_newest(span);
  });
}

// A buffer names a span from before it becomes hot (take_reusable) until after it has ceased to be hot
// (allocate_slow, abandon). So the buffer of a vanished thread names all its hot spans that have blocks, and
// maybe spans that are not hot, or not its own. If the fork came after a change of a span's counts and before
// the change of the word that goes with it, the counts are wrong, and later frees would look like double
// frees.
template <class Traits>
void span_life<Traits>::repair_hot_spans(lab_type& local) {
  for (unsigned index = 0; index < classes::count; ++index) {
    span_type& span = *local.hot[index];
    const bool is_hot = span.load_word(std::memory_order_relaxed).state() == span_state::hot;
    if (is_hot && span.owner(std::memory_order_relaxed) == &orphanage) span.set_owner(&local);
    const bool is_own = span.owner(std::memory_order_relaxed) == &local;
    if (is_hot && is_own) {
      // If the floor is that of a hot span, the fork did not fall between the changes of counts and word, and
      // the counts are right. A write without need would make the child copy a page of records.
      if (span.countdown_floor.load(std::memory_order_relaxed) != hot_floor)
        span.set_used(span.used(), hot_floor);
      continue;
    }
    local.hot[index] = &no_span<Traits>;
    if (is_own) sync_list(span), apply_due_event(span, local.column);
  }
}

}  // namespace heaplab::scalloc
