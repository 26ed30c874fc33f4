// Frees that leave the fast path: by the owner where an event may be due, and by other threads. Included by
// frontend.h.
#pragma once

#include <cstdint>
#include <optional>

#include "allocators/scalloc/frontend/frontend.h"
#include "base/narrow.h"

namespace heaplab::scalloc {

template <class Traits>
bool frontend<Traits>::list_again(lab_type& local, void* block) {
  if constexpr (has_lists) {
    const unsigned list = life_.spans().list_of(block);
    if (list == 0) local.lists.refuse(0);
    if (list == 0 || looks_free(block)) return false;
    mark_free(block);
    put_in_list(local, list, block);
    return true;
  }
  return false;
}

template <class Traits>
void frontend<Traits>::put_in_list(lab_type& local, unsigned list, void* block) {
  if (local.lists.has_room(list)) return local.lists.push(list, block);
  make_room(local, list - 1);
  local.lists.push_new(list, block);
}

template <class Traits>
HEAPLAB_FAST_PATH void frontend<Traits>::send_home(lab_type& local, span_type& span, void* block) {
  if constexpr (has_lists)
    if (looks_free(block) && local.lists.holds(span.class_index.load(std::memory_order_relaxed), block))
      refuse_double_free(block);
  {
    const home_use<Traits> in(local);
    if (span.owner(std::memory_order_relaxed) == &in.home) return deallocate_own(in.home, span, block);
  }
  mark_free(block);
  deallocate_remote(local, span, freed_block{block});
}

template <class Traits>
HEAPLAB_OUT_OF_LINE void frontend<Traits>::deallocate_own(lab_type& local, span_type& span, void* block) {
  class_at(span, block);
  if (is_free_already(local, span, block)) refuse_double_free(block);
  mark_free(block);
  if (push(local, span, freed_block{block})) after_free(local, span);
}

// The lock keeps a sweep of holes from changing the lists, and an orphan from being adopted; other threads
// only put blocks before those of the remote list.
template <class Traits>
bool frontend<Traits>::is_free_already(lab_type& local, span_type& span, const void* block) {
  if constexpr (!has_lists) return span.local_list == block;
  if (!looks_free(block)) return false;
  const concurrent::lock_holder hold(local.lists_lock);
  if (span.owner(std::memory_order_relaxed) != &local) return false;
  const size_class& kind = classes::table[span.class_index.load(std::memory_order_relaxed)];
  const auto holds = [&](const void* first) {
    // A list that a double free has closed to a ring is no longer than this.
    std::uint32_t left = kind.blocks;
    for (; first != nullptr && left > 0; first = span.secrets.next_of(first), --left)
      if (first == block) return true;
    return false;
  };
  const span_word seen = span.load_word(std::memory_order_acquire);
  return holds(span.local_list) || (seen.remote_count() > 0 && holds(span.base + seen.remote_newest()));
}

template <class Traits>
HEAPLAB_OUT_OF_LINE void frontend<Traits>::after_free(lab_type& local, span_type& span) {
  // The word is read before the owner: if this thread still owns the span, the word is of its tenure.
  const span_state state = span.load_word(std::memory_order_seq_cst).state();
  if (span.owner(std::memory_order_acquire) != &local) return;
  if (state == span_state::hot) {
    if (span.used() < 0) fatal("a block was freed twice in the span of", span.base);
    return span.set_owner(&local);
  }
  const std::optional<span_event> event = life_.move_if_due(span);
  if (event) life_.count_event(local, span);
  if (event == span_event::all_free) return life_.return_span(span, local.column);
  // While the remote list has blocks, every free of the owner comes here.
  if (!event && span.load_word(std::memory_order_seq_cst).remote_count() > 0) return;
  {
    const concurrent::lock_holder hold(local.lists_lock);
    if (span.owner(std::memory_order_relaxed) != &local) return;
    if (event) life_.place(local, span);
    if (life_.clear_attention(local, span)) return;
  }
  life_.apply_due_event(span, local.column);
}

template <class Traits>
template <class Freed>
HEAPLAB_OUT_OF_LINE void frontend<Traits>::deallocate_remote(lab_type& local, span_type& span, Freed freed) {
  const span_word before = push_remote(span, freed);
  if (before.state() == span_state::hot) {
    const unsigned class_index = span.class_index.load(std::memory_order_relaxed);
    const auto worth = narrow<std::uint32_t>(life_.limits_of(class_index).refill_count);
    if (before.remote_count() < worth && before.remote_count() + freed.count() >= worth)
      life_.count_event(local, span);
    return;
  }
  settle_remote(span, before, &local);
  if (Traits::settings.adopt_on_free && local.adopts &&
      span.owner(std::memory_order_relaxed) == &life_.orphanage())
    life_.adopt(local, span);
}

// After a push into a span that was not hot. `local`: the buffer of the thread that freed the blocks; null:
// none.
template <class Traits>
HEAPLAB_FAST_PATH void frontend<Traits>::settle_remote(span_type& span, span_word before, lab_type* local) {
  // The blocks are free, so that the span may have another owner or be in the pool by now. Everything below
  // is correct in any state of the span.
  if (before.remote_count() == 0) span.ask_for_attention();
  if (life_.apply_due_event(span, local != nullptr ? local->column : 0) && local != nullptr)
    life_.count_event(*local, span);
}

// Returns the word as the push found it.
template <class Traits>
template <class Freed>
HEAPLAB_FAST_PATH span_word frontend<Traits>::push_remote(span_type& span, Freed freed) {
  const std::uint32_t offset = span.offset_of(freed.newest());
  span_word before = span.load_word(std::memory_order_acquire);
  const size_class& kind = class_of(span, before, freed.newest());
  for (;;) {
    const bool first = before.remote_count() == 0;
    if (before.remote_count() + freed.count() > kind.blocks || (!first && before.remote_newest() == offset))
      refuse_double_free(freed.newest());
    span.secrets.link(freed.oldest(), first ? nullptr : span.base + before.remote_newest());
    // release publishes the links, and pairs with refill. seq_cst orders the push before the load of `used`
    // in apply_due_event (Dekker pattern).
    if (span.try_move(before, before.push(offset, freed.count()), std::memory_order_seq_cst)) [[likely]]
      return before;
    if (!before.allows(span_event::push)) refuse_double_free(freed.newest());
  }
}

template <class Traits>
HEAPLAB_FAST_PATH const size_class& frontend<Traits>::class_of(const span_type& span, span_word seen,
                                                               const void* block) {
  if (!seen.allows(span_event::push)) fatal("not a live block", block);
  return class_at(span, block);
}

// The same for a span that is known not to be free.
template <class Traits>
HEAPLAB_FAST_PATH const size_class& frontend<Traits>::class_at(const span_type& span, const void* block) {
  const size_class& kind = classes::table[span.class_index.load(std::memory_order_relaxed)];
  const std::uint64_t offset = span.offset_of(block) - span.color;
  const std::uint64_t index = (offset * kind.reciprocal) >> reciprocal_shift;
  if (index >= kind.blocks || index * kind.block_bytes != offset) fatal("not a live block", block);
  return kind;
}

}  // namespace heaplab::scalloc
