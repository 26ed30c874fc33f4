// free of blocks in spans.
//
// The walk: who calls whom, fast path first. DESIGN.md, section 1, has the way from free to here.
//
//   try_deallocate                  freeing.h                 fast path of free
//     has_room                      free_lists.h
//     push                          free_lists.h              onto the thread's list, whoever owns the block
//   list_again                      returned_blocks.h         the list had no room:
//     put_in_list                   returned_blocks.h
//       flush_list                  returned_blocks.h         all but the newest blocks go home (cut)
//         add                       returned_blocks.h         to their spans, a chain for each
//   send_home                       freeing.h                 no list takes the block; it has a mark
//     deallocate_own                freeing.h                 a block of the owner's own span
//       is_free_already             freeing.h                 a marked block: ends the process if it is free
//     deallocate_remote             freeing.h                 blocks of another owner's span
//       push_remote                 freeing.h                 onto the lock-free list in the span's word
//       settle_remote               freeing.h                 the span is not hot: its event may be due
//   after_free                      freeing.h                 its count or attention bit: an event may be due
//     move_if_due                   span_life.h               moves the span's word
//     return_span                   span_life.h               the span is empty: to the pool
//     relist                        span_life.h               the span is reusable: to that list
//     clear_attention               span_life.h               later frees take the fast path again
//     apply_due_event               span_life.h               if another thread came in between
//
// Without lists, as in the paper, free pushes onto the block's own span.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "allocators/scalloc/arena/page_map.h"
#include "allocators/scalloc/frontend/free_lists.h"
#include "allocators/scalloc/frontend/lab.h"
#include "allocators/scalloc/frontend/span_life.h"
#include "allocators/scalloc/spans/freed_blocks.h"
#include "allocators/scalloc/spans/span.h"
#include "base/compiler.h"
#include "base/fatal.h"
#include "base/narrow.h"

namespace heaplab::scalloc {

[[noreturn]] HEAPLAB_SLOW_PATH inline void refuse_double_free(const void* block) {
  fatal("free of a block that is free already", block);
}

template <class Traits>
HEAPLAB_FAST_PATH void mark_free(const span_life<Traits>& life, void* block) {
  if constexpr (lab<Traits>::has_lists) mark(block, life.arena.map().address());
}
template <class Traits>
HEAPLAB_FAST_PATH bool looks_free(const span_life<Traits>& life, const void* block) {
  return lab<Traits>::has_lists && is_marked(block, life.arena.map().address());
}

// --- the fast path: no lock, no atomic read-modify-write ---

// Called by the owner. True: after_free must be called for the span.
template <class Traits, class Freed>
HEAPLAB_FAST_PATH bool push(const lab<Traits>& local, span<Traits>& span, Freed freed) {
  span.secrets.link(freed.oldest(), span.local_list);
  // release publishes the link to a sweep of holes.
  atomic_ref<void*>(span.local_list).store(freed.newest(), std::memory_order_release);
  // After the count another thread may own the span. The count goes down before the attention bit is read,
  // as a remote free sets the bit before it reads the count (Dekker pattern).
  const bool is_spent = span.countdown.decrease_is_spent(narrow<std::int32_t>(freed.count()));
  return is_spent || !span.is_quietly_owned_by(local);
}

// False: nothing was done, and list_again or send_home must be called. `due`: the block is free, and
// after_free must be called for its span. Any address.
template <class Traits>
HEAPLAB_FAST_PATH bool try_deallocate(const span_life<Traits>& life, lab<Traits>& local, void* block,
                                      bool& due) {
  const std::size_t step = life.arena.step_of(block);
  if constexpr (lab<Traits>::has_lists) {
    const page_map<Traits>& map = life.arena.map();
    if (!map.serves(step)) [[unlikely]]
      return false;
    const std::size_t list = map.at(step);
    if (is_marked(block, map.address()) || !local.lists.has_room(list)) [[unlikely]]
      return false;
    mark(block, map.address());
    local.lists.push(list, block);
    due = false;
    return true;
  } else {
    if (!life.arena.in_fine_zone(step)) [[unlikely]]
      return false;
    span<Traits>& span = life.arena.fine_span_at(step);
    if (!span.is_owned_by(local) || span.local_list == block) [[unlikely]]
      return false;
    due = push(local, span, freed_block{block});
    return true;
  }
}

// --- everything else ---

// Past the lists. fatal() for an address at which no live block of `span` begins, as far as the span's
// record shows.
template <class Traits>
HEAPLAB_FAST_PATH void send_home(span_life<Traits>& life, lab<Traits>& local, span<Traits>& span,
                                 void* block) {
  if constexpr (lab<Traits>::has_lists)
    if (looks_free(life, block) && local.lists.holds(span.class_index.load(std::memory_order_relaxed), block))
      refuse_double_free(block);
  {
    const home_use<Traits> in(local);
    if (span.owner(std::memory_order_relaxed) == &in.home) return deallocate_own(life, in.home, span, block);
  }
  mark_free(life, block);
  deallocate_remote(life, local, span, freed_block{block});
}

template <class Traits>
HEAPLAB_OUT_OF_LINE void deallocate_own(span_life<Traits>& life, lab<Traits>& local, span<Traits>& span,
                                        void* block) {
  class_at(span, block);
  if (is_free_already(life, local, span, block)) refuse_double_free(block);
  mark_free(life, block);
  if (push(local, span, freed_block{block})) after_free(life, local, span);
}

// Whether the block is in a list of free blocks; without marks, whether it is the first of its span's.
// `local` is the buffer of the caller, which owns the span, or the orphanage.
//
// The lock keeps a sweep of holes from changing the lists, and an orphan from being adopted; other threads
// only put blocks before those of the remote list.
template <class Traits>
bool is_free_already(span_life<Traits>& life, lab<Traits>& local, span<Traits>& span, const void* block) {
  if constexpr (!lab<Traits>::has_lists) return span.local_list == block;
  if (!looks_free(life, block)) return false;
  const concurrent::lock_holder hold(local.lists_lock);
  if (span.owner(std::memory_order_relaxed) != &local) return false;
  const size_class& kind = span.kind();
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

// After a local free that was `due`.
template <class Traits>
HEAPLAB_OUT_OF_LINE void after_free(span_life<Traits>& life, lab<Traits>& local, span<Traits>& span) {
  // The word is read before the owner: if this thread still owns the span, the word is of its tenure.
  const span_state state = span.load_word(std::memory_order_seq_cst).state();
  if (span.owner(std::memory_order_acquire) != &local) return;
  if (state == span_state::hot) {
    if (span.used() < 0) fatal("a block was freed twice in the span of", span.base);
    return span.set_owner(&local);
  }
  const std::optional<span_event> event = life.move_if_due(span);
  if (event) life.count_event(local, span);
  if (event == span_event::all_free) return life.return_span(span, local.column);
  // While the remote list has blocks, every free of the owner comes here.
  if (!event && span.load_word(std::memory_order_seq_cst).remote_count() > 0) return;
  {
    const concurrent::lock_holder hold(local.lists_lock);
    if (span.owner(std::memory_order_relaxed) != &local) return;
    if (event) life.relist(local, span);
    if (life.clear_attention(local, span)) return;
  }
  life.apply_due_event(span, local.column);
}

template <class Traits, class Freed>
HEAPLAB_OUT_OF_LINE void deallocate_remote(span_life<Traits>& life, lab<Traits>& local, span<Traits>& span,
                                           Freed freed) {
  const span_word before = push_remote(span, freed);
  if (before.state() == span_state::hot) {
    const unsigned class_index = span.class_index.load(std::memory_order_relaxed);
    const auto worth = narrow<std::uint32_t>(life.limits_of(class_index).refill_count);
    if (before.remote_count() < worth && before.remote_count() + freed.count() >= worth)
      life.count_event(local, span);
    return;
  }
  settle_remote(life, span, before, &local);
  if (Traits::config.adopt_on_free && local.adopts &&
      span.owner(std::memory_order_relaxed) == &life.orphanage)
    life.adopt(local, span);
}

// After a push into a span that was not hot. `local`: the buffer of the thread that freed the blocks; null:
// none.
template <class Traits>
HEAPLAB_FAST_PATH void settle_remote(span_life<Traits>& life, span<Traits>& span, span_word before,
                                     lab<Traits>* local) {
  // The blocks are free, so that the span may have another owner or be in the pool by now. Everything below
  // is correct in any state of the span.
  if (before.remote_count() == 0) span.ask_for_attention();
  if (life.apply_due_event(span, local != nullptr ? local->column : 0) && local != nullptr)
    life.count_event(*local, span);
}

// Returns the word as the push found it.
template <class Traits, class Freed>
HEAPLAB_FAST_PATH span_word push_remote(span<Traits>& span, Freed freed) {
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

// The size class of a live block; fatal() for an address at which no block begins.
template <class Traits>
HEAPLAB_FAST_PATH const size_class& class_of(const span<Traits>& span, span_word seen, const void* block) {
  if (!seen.allows(span_event::push)) fatal("not a live block", block);
  return class_at(span, block);
}

// The same for a span that is known not to be free.
template <class Traits>
HEAPLAB_FAST_PATH const size_class& class_at(const span<Traits>& span, const void* block) {
  const size_class& kind = span.kind();
  const std::uint64_t offset = span.offset_of(block) - span.color;
  const std::uint64_t index = (offset * kind.reciprocal) >> reciprocal_shift;
  if (index >= kind.blocks || index * kind.block_bytes != offset) fatal("not a live block", block);
  return kind;
}

}  // namespace heaplab::scalloc
