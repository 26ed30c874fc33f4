// The slow path of allocation: where free blocks come from when the hot span has none. Included by
// frontend.h.
#pragma once

#include "allocators/scalloc/frontend/frontend.h"
#include "allocators/scalloc/hardened/shuffle.h"
#include "allocators/scalloc/spans/guarded_spans.h"

namespace heaplab::scalloc {

template <class Traits>
HEAPLAB_FAST_PATH void* frontend<Traits>::allocate_slow(lab_type& local, unsigned class_index,
                                                        bool& is_zero) {
  if (local.shares_home()) [[unlikely]]
    return allocate_at_home(local, class_index, is_zero);
  return allocate_from(local, local, class_index, is_zero);
}

template <class Traits>
HEAPLAB_OUT_OF_LINE void* frontend<Traits>::allocate_at_home(lab_type& local, unsigned class_index,
                                                             bool& is_zero) {
  const home_use<Traits> in(local);
  return allocate_from(in.home, local, class_index, is_zero);
}

template <class Traits>
HEAPLAB_OUT_OF_LINE void* frontend<Traits>::allocate_from(lab_type& home, lab_type& local,
                                                          unsigned class_index, bool& is_zero) {
  is_zero = false;
  do {
    span_type& hot = *home.hot[class_index];
    if (hot.local_list != nullptr || refill(hot, life_.limits_of(class_index).refill_count))
      return pop_and_fill(local, class_index, hot);
    const std::uint32_t written = hot.resident_bytes();
    if (&hot == &no_span<Traits> || !extend(hot)) continue;
    if constexpr (Traits::settings.hardened)
      local.quarantine.for_each([](void* freed) { check_first_word(freed); });
    void* const block = pop_and_fill(local, class_index, hot);
    is_zero = hot.offset_of(block) >= written;
    if constexpr (!Traits::settings.hardened)
      hot.secrets.link(block, nullptr);
    else if (is_zero)
      hot.live.mark_untouched(hot.secrets.granule_of(block));
    return block;
  } while (change_hot(home, class_index));
  return nullptr;
}

// Another span becomes hot where the hot span, if there is one, has no blocks left. False: no memory.
template <class Traits>
HEAPLAB_OUT_OF_LINE bool frontend<Traits>::change_hot(lab_type& local, unsigned class_index) {
  span_type*& hot = local.hot[class_index];
  span_type* next = nullptr;
  if (hot != &no_span<Traits>) {
    // Too few remotely freed blocks to stay hot. Left in the remote list they would keep the attention bit
    // set, and every free of the owner would take the slow path.
    refill(*hot, 1);
    next = replace(local, *hot);
  }
  if (next == nullptr) next = get_span(local, class_index);
  hot = next != nullptr ? next : &no_span<Traits>;
  if (next == nullptr) return false;
  HEAPLAB_ASSERT(next->is_hot_in(local, class_index));
  HEAPLAB_ASSERT_EXPENSIVE(is_counted(*next));
  if (next->local_list == nullptr) refill(*next, 1);
  return true;
}

// --- making blocks available ---

// Precondition: the local list is empty. Makes the remote list the local list if at least `worth` > 0 blocks
// are in the remote list.
template <class Traits>
bool frontend<Traits>::refill(span_type& hot, std::int32_t worth) {
  span_word seen = hot.load_word(std::memory_order_relaxed);
  for (;;) {
    const auto count = static_cast<std::int32_t>(seen.remote_count());
    if (count < worth) return false;
    // acquire pairs with push_remote: the links of the blocks are visible.
    if (hot.try_move(seen, seen.refill(), std::memory_order_acquire)) {
      hot.local_list = hot.base + seen.remote_newest();
      hot.countdown.set(hot.countdown.read_own() - count);
      HEAPLAB_ASSERT_EXPENSIVE(is_counted(hot));
      return true;
    }
  }
}

// Precondition: the local list is empty. Links the blocks of a hole, or the next fresh blocks, about
// fresh_batch_bytes of them, into the local list.
template <class Traits>
bool frontend<Traits>::extend(span_type& hot) {
  if (hot.hot_holes.load(std::memory_order_relaxed) != 0 && take_hot_holes(hot)) [[unlikely]]
    return true;
  if (hot.holes != 0 && fill_hole(hot)) return true;
  const size_class& kind = classes::table[hot.class_index.load(std::memory_order_relaxed)];
  const std::uint32_t count = std::min<std::uint32_t>(kind.fresh_batch, kind.blocks - hot.fresh);
  if (count == 0) return false;
  // Before the first byte is written: the child of a fork must not take written bytes for zeros.
  const std::uint32_t end = hot.color + (hot.fresh + count) * kind.block_bytes;
  hot.set_resident_bytes(std::max(hot.resident_bytes(), end));
  std::atomic_signal_fence(std::memory_order_seq_cst);
  void* const first = link_fresh(hot, count, kind);
  // A fork may copy this thread at any instruction. This order loses blocks in the child, and hands none out
  // twice.
  hot.fresh += count;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  hot.local_list = first;
  HEAPLAB_ASSERT_EXPENSIVE(is_counted(hot));
  return true;
}

// Links the next `count` fresh blocks into a list, and returns its first block.
template <class Traits>
void* frontend<Traits>::link_fresh(span_type& hot, std::uint32_t count, const size_class& kind) {
  char* const first = hot.block_at(hot.fresh, kind);
  if constexpr (Traits::settings.hardened) {
    constexpr std::size_t most = std::min<std::size_t>(Traits::settings.fresh_batch_bytes / class_step,
                                                       Traits::settings.fresh_batch_blocks);
    return link_shuffled<most>(hot.secrets, first, count, hot.owner(std::memory_order_relaxed)->random);
  } else {
    char* const last = first + std::size_t{count - 1} * kind.block_bytes;
    for (char* block = first; block < last; block += kind.block_bytes)
      hot.secrets.link(block, block + kind.block_bytes);
    hot.secrets.link(last, nullptr);
    return first;
  }
}

template <class Traits>
span<Traits>* frontend<Traits>::get_span(lab_type& local, unsigned class_index) {
  if (!Traits::settings.eager_return) return_empty_reusables(local, class_index);
  if (local.reusable[class_index].looks_empty()) recheck_oldest_floating(local, class_index);
  if (span_type* const span = reuse(local, local, class_index)) return span;
  life_.hand_over_idle(local);
  if (span_type* const span = reuse(life_.orphanage(), local, class_index)) return span;
  return take_free_span(local, class_index);
}

// A reusable span of `from` becomes a hot span of `local`.
template <class Traits>
span<Traits>* frontend<Traits>::reuse(lab_type& from, lab_type& local, unsigned class_index) {
  if (from.reusable[class_index].looks_empty()) return nullptr;
  const concurrent::lock_holder hold(from.lists_lock);
  return take_reusable(from, local, class_index);
}

// The same, called by the holder of the lock of from's lists.
template <class Traits>
span<Traits>* frontend<Traits>::take_reusable(lab_type& from, lab_type& local, unsigned class_index) {
  auto& reusable = from.reusable[class_index];
  while (span_type* const span =
             Traits::settings.reuse_newest ? reusable.take_newest() : reusable.take_oldest()) {
    span_word seen = span->load_word(std::memory_order_acquire);
    local.hot[class_index] = span;  // before the span is hot: repair_hot_spans relies on it
    while (seen.state() == span_state::reusable) {
      span->make_holes_hot();
      if (!span->try_move(seen, seen.reuse(), std::memory_order_acq_rel)) continue;
      life_.enlist(*span);
      span->set_owner(&local);
      if constexpr (has_lists) local.lists.raise_limit(class_index);
      span->set_used(span->used(), life_type::hot_floor);
      return span;
    }
    // The thread that freed the last block of this span is about to return the span.
  }
  return nullptr;
}

// Retires a hot span and makes a reusable span of the same class hot, under one hold of the lock. Null: there
// was none.
template <class Traits>
span<Traits>* frontend<Traits>::replace(lab_type& local, span_type& hot) {
  const unsigned class_index = hot.class_index.load(std::memory_order_relaxed);
  life_.make_floating(local, hot);
  span_type* next = nullptr;
  {
    const concurrent::lock_holder hold(local.lists_lock);
    // Another thread may have freed the last block and taken the span away.
    if (hot.owner(std::memory_order_relaxed) == &local) life_.place(local, hot);
    if constexpr (Traits::settings.eager_return) next = take_reusable(local, local, class_index);
  }
  life_.apply_due_event(hot, local.column);
  return next;
}

template <class Traits>
span<Traits>* frontend<Traits>::take_free_span(lab_type& local, unsigned class_index) {
  const size_class& kind = classes::table[class_index];
  life_.pool().decay_unless_helped(life_.spans());
  span_type* span = life_.pool().get(life_.spans(), class_index, local.column);
  if (span == nullptr) span = life_.spans().carve(kind.fine, local.column);
  if (span == nullptr) return nullptr;
  HEAPLAB_ASSERT(span->is_free() ||
                 span->load_word(std::memory_order_relaxed).state() == span_state::expected);
  if constexpr (Traits::settings.guards_tails)
    if (!fit_access(*span, kind, life_.spans().number_of(*span))) return nullptr;  // the span is given up
  span->class_index.store(class_index, std::memory_order_relaxed);
  if constexpr (Traits::settings.hardened)
    span->secrets.renew(kind, life_.spans().span_bytes(kind.fine), span->live.granules, local.random);
  span->color = classes::color_of(life_.spans().number_of(*span), kind);
  span->local_list = nullptr;
  span->fresh = 0;
  span->holes = 0;
  span->hot_holes.store(0, std::memory_order_relaxed);
  if constexpr (has_lists) local.lists.lower_limit(class_index);
  span->set_used(0, life_type::hot_floor);
  life_.enlist(*span);
  span->set_owner(&local);
  // release publishes the stores above to the threads that read the word of this tenure. A store suffices:
  // only the thread that took a free span moves the span.
  span->word.store(span->load_word(std::memory_order_relaxed).take().bits(), std::memory_order_release);
  return span;
}

// Finds a span that its owner and another thread emptied at the same instant (span_life.h).
template <class Traits>
void frontend<Traits>::recheck_oldest_floating(lab_type& local, unsigned class_index) {
  auto& floating = local.floating[class_index];
  if (floating.looks_empty()) return;
  span_type* oldest;
  {
    const concurrent::lock_holder hold(local.lists_lock);
    oldest = floating.take_oldest();
    if (oldest == nullptr) return;
    floating.put_newest(*oldest);
  }
  life_.apply_due_event(*oldest, local.column);
}

// Without eager_return: returns the empty spans among the owner's reusable spans.
template <class Traits>
void frontend<Traits>::return_empty_reusables(lab_type& local, unsigned class_index) {
  const concurrent::lock_holder hold(local.lists_lock);
  auto& reusable = local.reusable[class_index];
  for (span_type* next = reusable.oldest(); next != nullptr;) {
    span_type& candidate = *next;
    next = candidate.hook.newer;
    span_word seen = candidate.load_word(std::memory_order_acquire);
    const std::int32_t live = candidate.used() - static_cast<std::int32_t>(seen.remote_count());
    if (seen.state() != span_state::reusable || live != 0) continue;
    if (!candidate.try_move(seen, seen.all_free(), std::memory_order_acq_rel)) continue;
    reusable.remove(candidate);
    life_.disown(candidate);
    life_.pool().put(life_.spans(), candidate, local.column);
  }
}

}  // namespace heaplab::scalloc
