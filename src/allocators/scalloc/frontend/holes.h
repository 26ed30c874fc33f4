// Spans with holes (span_holes.h) at the frontend: how pages leave them, and how their blocks come back.
#pragma once

#include <atomic>
#include <bit>
#include <utility>

#include "allocators/scalloc/frontend/freeing.h"
#include "allocators/scalloc/frontend/lab.h"
#include "allocators/scalloc/frontend/span_life.h"
#include "allocators/scalloc/spans/block_pages.h"
#include "base/narrow.h"

namespace heaplab::scalloc {

// While the pages of a span's holes go back to the system (hole_sweep.h): takes the remote list of a hot
// span, and frees again what borrow(first block, freed chain) leaves of it there; the blocks that begin in
// the pages that borrow() returns are in that chain no more. A null chain is lost.
template <class Traits, class Borrow>
void borrow_remote(span_life<Traits>& life, span<Traits>& span, Borrow&& borrow) {
  span_word seen;
  {
    lab<Traits>* const owner = span.owner(std::memory_order_acquire);
    if (owner == nullptr) return;
    const concurrent::lock_holder hold(owner->lists_lock);
    if (span.owner(std::memory_order_relaxed) != owner) return;
    // The owner must find the list that counts the blocks of these holes.
    if (span.hot_holes.load(std::memory_order_relaxed) != 0) return;
    seen = span.load_word(std::memory_order_acquire);
    do {
      if (seen.state() != span_state::hot || seen.remote_count() == 0) return;
      // acquire pairs with push_remote: the links of the blocks are visible.
    } while (!span.try_move(seen, seen.refill(), std::memory_order_acquire));
  }
  freed_chain back{nullptr, nullptr, seen.remote_count()};
  const std::uint32_t named = borrow(static_cast<void*>(span.base + seen.remote_newest()), back);
  if (back.oldest() == nullptr) return;
  // As long as the blocks are out the span is in use and has an owner.
  span_word before;
  for (;;) {
    lab<Traits>* const owner = span.owner(std::memory_order_acquire);
    const concurrent::lock_holder hold(owner->lists_lock);
    if (span.owner(std::memory_order_relaxed) != owner) continue;
    span.hot_holes.store(span.hot_holes.load(std::memory_order_relaxed) | named, std::memory_order_relaxed);
    before = push_remote(span, back);
    break;
  }
  if (before.state() != span_state::hot) settle_remote<Traits>(life, span, before, nullptr);
}

// Precondition: the local list is empty. Makes blocks available that a sweep has taken out of a list.
template <class Traits>
bool fill_hole(span<Traits>& hot) {
  const size_class& kind = Traits::classes::table[hot.class_index.load(std::memory_order_relaxed)];
  while (hot.holes != 0) {
    const auto page = narrow<std::uint32_t>(std::countr_zero(hot.holes));
    const block_range in = blocks_beginning_in(page, kind, hot.color);
    hot.holes &= hot.holes - 1;
    // A fork may copy this thread at any instruction. This order loses blocks in the child, and hands none
    // out twice.
    std::atomic_signal_fence(std::memory_order_seq_cst);
    char* const first = hot.block_at(in.first, kind);
    void* newest = nullptr;
    for (std::uint32_t left = in.end - in.first; left > 0; --left) {
      char* const block = first + std::size_t{left - 1} * kind.block_bytes;
      hot.secrets.link(block, newest);
      newest = block;
    }
    std::atomic_signal_fence(std::memory_order_seq_cst);
    hot.local_list = newest;
    if (newest != nullptr) return true;
  }
  return false;
}

}  // namespace heaplab::scalloc
