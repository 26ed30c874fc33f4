// malloc of blocks in spans.
//
// The walk: who calls whom, fast path first. DESIGN.md, section 1, has the way from malloc to here.
//
//   try_allocate                    allocation.h              fast path
//     pop                           free_lists.h              the first block of the thread's list
//   allocate_slow                   allocation.h              that list is empty; at home where threads share
//     allocate_from                 allocation.h              in this order:
//       refill                      allocation.h              blocks of the hot span that other threads freed
//       extend                      allocation.h              its blocks that are in no list: fresh ones, or
//         fill_hole                 holes.h                   of pages that went back
//       change_hot                  allocation.h              another span becomes hot:
//         replace                   allocation.h              the hot span is dry: the event that is due
//           take_reusable           allocation.h              a reusable span of the thread becomes hot
//         get_span                  allocation.h              no reusable span was left, or no span was hot
//           reuse                   allocation.h              a span of the thread, or one given away
//           abandon_idle            span_life.h               spans of classes that the thread does not use
//           take_free_span          allocation.h
//             get                   span_pool.h               an empty span
//             carve                 arena.h                   a span that was never used
//       pop_and_fill                allocation.h              the span has blocks now
//         take_all                  span.h                    all of them; of a shared span some (take)
//         fill                      free_lists.h              for the thread's list
//
// Without lists, as in the paper, malloc pops from the hot span.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "allocators/scalloc/frontend/holes.h"
#include "allocators/scalloc/frontend/lab.h"
#include "allocators/scalloc/frontend/span_life.h"
#include "allocators/scalloc/hardened/block_secrets.h"
#include "allocators/scalloc/spans/block_checks.h"
#include "allocators/scalloc/spans/span.h"
#include "base/assertion.h"
#include "base/compiler.h"

namespace heaplab::scalloc {

// --- the fast path: no lock, no atomic read-modify-write ---

template <class Traits>
HEAPLAB_FAST_PATH void* pop(span<Traits>& hot) {
  void* const block = hot.local_list;
  void* const next = hot.secrets.next_of(block);
  hot.local_list = next;
  if constexpr (lab<Traits>::has_lists) mark(block, nullptr);
  // The next malloc of this class reads the link in that block, and its caller writes to the block.
  __builtin_prefetch(next, 1);
  hot.countdown.increment();
  if constexpr (Traits::config.hardened) mark_live(hot, block);
  return block;
}

// Null: no free block is at hand.
template <class Traits>
HEAPLAB_FAST_PATH void* try_allocate(lab<Traits>& local, std::size_t class_index) {
  if constexpr (lab<Traits>::has_lists) {
    return local.lists.pop(local.lists.own_list(narrow<unsigned>(class_index)));
  } else {
    span<Traits>& hot = *local.hot[class_index];
    if (hot.local_list == nullptr) [[unlikely]]
      return nullptr;
    return pop(hot);
  }
}

// --- everything else ---

// Called where the fast path had no block, or the caller none to look at. Null: no memory. `is_zero`: whether
// the block is known to hold nothing but zeros.
template <class Traits>
HEAPLAB_FAST_PATH void* allocate_slow(span_life<Traits>& life, lab<Traits>& local, unsigned class_index,
                                      bool& is_zero) {
  if (void* const block = try_allocate(local, class_index)) return block;
  if (local.shares_home()) [[unlikely]]
    return allocate_at_home(life, local, class_index, is_zero);
  return allocate_from(life, local, local, class_index, is_zero);
}

template <class Traits>
HEAPLAB_OUT_OF_LINE void* allocate_at_home(span_life<Traits>& life, lab<Traits>& local, unsigned class_index,
                                           bool& is_zero) {
  const home_use<Traits> in(local);
  return allocate_from(life, in.home, local, class_index, is_zero);
}

template <class Traits>
HEAPLAB_OUT_OF_LINE void* allocate_from(span_life<Traits>& life, lab<Traits>& home, lab<Traits>& local,
                                        unsigned class_index, bool& is_zero) {
  is_zero = false;
  do {
    span<Traits>& hot = *home.hot[class_index];
    if (hot.local_list != nullptr || refill(life, hot, life.limits_of(class_index).refill_count))
      return pop_and_fill(local, class_index, hot);
    const std::uint32_t written = hot.resident_bytes();
    if (&hot == &no_span<Traits> || !extend(life, hot)) continue;
    if constexpr (Traits::config.hardened)
      local.quarantine.for_each([](void* freed) { check_first_word(freed); });
    void* const block = pop_and_fill(local, class_index, hot);
    is_zero = hot.offset_of(block) >= written;
    if constexpr (!Traits::config.hardened)
      hot.secrets.link(block, nullptr);
    else if (is_zero)
      hot.live.mark_untouched(hot.secrets.granule_of(block));
    return block;
  } while (change_hot(life, home, class_index));
  return nullptr;
}

// The blocks of the hot span's list are for the thread's, which is empty, and the first of them for the
// caller; of a shared span no more than the thread's list may hold. Precondition: the hot span has a block.
template <class Traits>
HEAPLAB_FAST_PATH void* pop_and_fill(lab<Traits>& local, unsigned class_index, span<Traits>& hot) {
  if constexpr (lab<Traits>::has_lists)
    if (hot.secrets.next_of(hot.local_list) != nullptr) {
      std::uint32_t count;
      const bool is_shared = local.shares_home();
      void* const first =
          is_shared ? hot.take(local.lists.limit_of(class_index), count) : hot.take_all(count);
      local.lists.fill(class_index, first, count);
      if (is_shared) local.lists.raise_shared_limit(class_index);
      return local.lists.pop(local.lists.own_list(class_index));
    }
  return pop(hot);
}

// Another span becomes hot where the hot span, if there is one, has no blocks left. False: no memory.
template <class Traits>
HEAPLAB_OUT_OF_LINE bool change_hot(span_life<Traits>& life, lab<Traits>& local, unsigned class_index) {
  span<Traits>*& hot = local.hot[class_index];
  span<Traits>* next = nullptr;
  if (hot != &no_span<Traits>) {
    // Too few remotely freed blocks to stay hot. Left in the remote list they would keep the attention bit
    // set, and every free of the owner would take the slow path.
    refill(life, *hot, 1);
    next = replace(life, local, *hot);
  }
  if (next == nullptr) next = get_span(life, local, class_index);
  hot = next != nullptr ? next : &no_span<Traits>;
  if (next == nullptr) return false;
  HEAPLAB_ASSERT(next->is_hot_in(local, class_index));
  HEAPLAB_ASSERT_EXPENSIVE(life.is_counted(*next));
  if (next->local_list == nullptr) refill(life, *next, 1);
  return true;
}

// --- making blocks available ---

// Precondition: the local list is empty. Makes the remote list the local list if at least `worth` > 0 blocks
// are in the remote list.
template <class Traits>
bool refill(span_life<Traits>& life, span<Traits>& hot, std::int32_t worth) {
  span_word seen = hot.load_word(std::memory_order_relaxed);
  for (;;) {
    const auto count = static_cast<std::int32_t>(seen.remote_count());
    if (count < worth) return false;
    // acquire pairs with push_remote: the links of the blocks are visible.
    if (hot.try_move(seen, seen.refill(), std::memory_order_acquire)) {
      hot.local_list = hot.base + seen.remote_newest();
      hot.countdown.set(hot.countdown.read_own() - count);
      HEAPLAB_ASSERT_EXPENSIVE(life.is_counted(hot));
      return true;
    }
  }
}

// Called by the owner, where the local list is empty. Takes the hot holes together with the remote list,
// which counts some of their blocks: a block of a hole that is handed out while it still counts as used would
// later be missing there. Returns whether the local list has blocks.
template <class Traits>
HEAPLAB_SLOW_PATH bool take_hot_holes(span_life<Traits>& life, span<Traits>& hot) {
  const concurrent::lock_holder hold(hot.owner(std::memory_order_relaxed)->lists_lock);
  hot.holes |= hot.hot_holes.exchange(0, std::memory_order_relaxed);
  return refill(life, hot, 1);
}

// Precondition: the local list is empty. Links the blocks of a hole, or the next fresh blocks, about
// fresh_batch_bytes of them, into the local list.
template <class Traits>
bool extend(span_life<Traits>& life, span<Traits>& hot) {
  if (hot.hot_holes.load(std::memory_order_relaxed) != 0 && take_hot_holes(life, hot)) [[unlikely]]
    return true;
  if (hot.holes != 0 && fill_hole(hot)) return true;
  const size_class& kind = hot.kind();
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
  HEAPLAB_ASSERT_EXPENSIVE(life.is_counted(hot));
  return true;
}

// Links the next `count` fresh blocks into a list, and returns its first block.
template <class Traits>
void* link_fresh(span<Traits>& hot, std::uint32_t count, const size_class& kind) {
  if constexpr (Traits::config.hardened) {
    constexpr std::size_t most = std::min<std::size_t>(Traits::config.fresh_batch_bytes / class_step,
                                                       Traits::config.fresh_batch_blocks);
    char* const first = hot.block_at(hot.fresh, kind);
    return link_shuffled<most>(hot.secrets, first, count, hot.owner(std::memory_order_relaxed)->random);
  } else {
    return hot.link_blocks(hot.fresh, count, kind);
  }
}

template <class Traits>
span<Traits>* get_span(span_life<Traits>& life, lab<Traits>& local, unsigned class_index) {
  if (!Traits::config.eager_return) return_empty_reusables(life, local, class_index);
  if (local.reusable[class_index].looks_empty()) recheck_oldest_floating(life, local, class_index);
  if (span<Traits>* const span = reuse(life, local, local, class_index)) return span;
  life.abandon_idle(local);
  if (span<Traits>* const span = reuse(life, life.orphanage, local, class_index)) return span;
  return take_free_span(life, local, class_index);
}

// A reusable span of `from` becomes a hot span of `local`.
template <class Traits>
span<Traits>* reuse(span_life<Traits>& life, lab<Traits>& from, lab<Traits>& local, unsigned class_index) {
  if (from.reusable[class_index].looks_empty()) return nullptr;
  const concurrent::lock_holder hold(from.lists_lock);
  return take_reusable(life, from, local, class_index);
}

// The same, called by the holder of the lock of from's lists.
template <class Traits>
span<Traits>* take_reusable(span_life<Traits>& life, lab<Traits>& from, lab<Traits>& local,
                            unsigned class_index) {
  auto& reusable = from.reusable[class_index];
  while (span<Traits>* const span =
             Traits::config.reuse_newest ? reusable.take_newest() : reusable.take_oldest()) {
    span_word seen = span->load_word(std::memory_order_acquire);
    local.hot[class_index] = span;  // before the span is hot: repair_hot_spans relies on it
    while (seen.state() == span_state::reusable) {
      span->make_holes_hot();
      if (!span->try_move(seen, seen.reuse(), std::memory_order_acq_rel)) continue;
      life.enlist(*span, local);
      span->set_owner(&local);
      if constexpr (lab<Traits>::has_lists) local.lists.raise_limit(class_index);
      span->set_used(span->used(), span_life<Traits>::hot_floor);
      return span;
    }
    // The thread that freed the last block of this span is about to return the span.
  }
  return nullptr;
}

// Retires a hot span and makes a reusable span of the same class hot, under one hold of the lock. Null: there
// was none.
template <class Traits>
span<Traits>* replace(span_life<Traits>& life, lab<Traits>& local, span<Traits>& hot) {
  const unsigned class_index = hot.class_index.load(std::memory_order_relaxed);
  life.make_floating(local, hot);
  span<Traits>* next = nullptr;
  {
    const concurrent::lock_holder hold(local.lists_lock);
    // Another thread may have freed the last block and taken the span away.
    if (hot.owner(std::memory_order_relaxed) == &local) life.relist(local, hot);
    if constexpr (Traits::config.eager_return) next = take_reusable(life, local, local, class_index);
  }
  life.apply_due_event(hot, local.column);
  return next;
}

template <class Traits>
span<Traits>* take_free_span(span_life<Traits>& life, lab<Traits>& local, unsigned class_index) {
  const size_class& kind = Traits::classes::table[class_index];
  life.pool.decay_without_purge_thread(life.arena);
  span<Traits>* span = life.pool.get(life.arena, class_index, local.column);
  if (span == nullptr) span = life.arena.carve(kind.fine, local.column);
  if (span == nullptr) return nullptr;
  HEAPLAB_ASSERT(span->is_free() ||
                 span->load_word(std::memory_order_relaxed).state() == span_state::expected);
  if constexpr (Traits::config.guards_tails)
    if (!life.arena.fit_access(*span, kind)) return nullptr;  // the span is given up
  span->class_index.store(class_index, std::memory_order_relaxed);
  if constexpr (Traits::config.hardened)
    span->secrets.renew(kind, life.arena.span_bytes(kind.fine), span->live.granules, local.random);
  span->color = Traits::classes::color_of(life.arena.number_of(*span), kind);
  span->local_list = nullptr;
  span->fresh = 0;
  span->holes = 0;
  span->hot_holes.store(0, std::memory_order_relaxed);
  if constexpr (lab<Traits>::has_lists) local.lists.lower_limit(class_index);
  span->set_used(0, span_life<Traits>::hot_floor);
  life.enlist(*span, local);
  span->set_owner(&local);
  // release publishes the stores above to the threads that read the word of this tenure. A store suffices:
  // only the thread that took a free span moves the span.
  span->word.store(span->load_word(std::memory_order_relaxed).take().bits(), std::memory_order_release);
  return span;
}

// Finds a span that its owner and another thread emptied at the same instant (span_life.h).
template <class Traits>
void recheck_oldest_floating(span_life<Traits>& life, lab<Traits>& local, unsigned class_index) {
  auto& floating = local.floating[class_index];
  if (floating.looks_empty()) return;
  span<Traits>* oldest;
  {
    const concurrent::lock_holder hold(local.lists_lock);
    oldest = floating.take_oldest();
    if (oldest == nullptr) return;
    floating.put_newest(*oldest);
  }
  life.apply_due_event(*oldest, local.column);
}

// Without eager_return: returns the empty spans among the owner's reusable spans.
template <class Traits>
void return_empty_reusables(span_life<Traits>& life, lab<Traits>& local, unsigned class_index) {
  const concurrent::lock_holder hold(local.lists_lock);
  auto& reusable = local.reusable[class_index];
  for (span<Traits>* next = reusable.oldest(); next != nullptr;) {
    span<Traits>& candidate = *next;
    next = candidate.hook.newer;
    span_word seen = candidate.load_word(std::memory_order_acquire);
    if (seen.state() != span_state::reusable || candidate.live_blocks(seen) != 0) continue;
    if (!candidate.try_move(seen, seen.all_free(), std::memory_order_acq_rel)) continue;
    reusable.remove(candidate);
    life.disown(candidate);
    life.pool.put(life.arena, candidate, local.column);
  }
}

}  // namespace heaplab::scalloc
