// Spans with holes (span_holes.h) at the frontend: how pages leave them, and how their blocks come back.
// Included by frontend.h.
#pragma once

#include <atomic>
#include <bit>
#include <utility>

#include "allocators/scalloc/block_pages.h"
#include "allocators/scalloc/frontend.h"

namespace heaplab::scalloc {

// A thread that sees many spans lose blocks asks for somebody who looks for holes.
template <class Traits>
void frontend<Traits>::count_event(lab_type& local) {
  if (!Traits::settings.purges_holes || !local.adopts) return;
  if (++local.events % Traits::settings.events_per_sweep == 0 &&
      spans_.carved_bytes() >= Traits::settings.hole_sweep_bytes) [[unlikely]]
    Traits::ask_for_purge();
}

template <class Traits>
template <class Find>
bool frontend<Traits>::begin_purge(span_type& it, Find&& find) {
  lab_type* const owner = it.owner(std::memory_order_acquire);
  if (owner == nullptr) return false;
  const concurrent::lock_holder hold(owner->lists_lock);
  if (it.owner(std::memory_order_relaxed) != owner || it.purging != purge_state::none) return false;
  const span_state state = it.load_word(std::memory_order_acquire).state();
  if (state != span_state::floating && state != span_state::reusable) return false;
  if (!find()) return false;
  it.purging = purge_state::under_way;
  place(*owner, it);
  return true;
}

// Nothing happens where begin_purge has not returned true before, as in the child of a fork.
template <class Traits>
void frontend<Traits>::end_purge(span_type& it) {
  std::uint32_t column = 0;
  for (;;) {
    lab_type* const owner = it.owner(std::memory_order_acquire);
    if (owner == nullptr) return;
    const concurrent::lock_holder hold(owner->lists_lock);
    if (it.owner(std::memory_order_relaxed) != owner) continue;
    const purge_state before = std::exchange(it.purging, purge_state::none);
    if (before != purge_state::under_way_and_free) return place(*owner, it);
    if (it.hook.in != nullptr) it.hook.in->remove(it);
    give(it, nullptr);
    column = owner->column;
    break;
  }
  pool_.put(spans_, it, column);
}

// Precondition: the local list is empty. Makes blocks available that a sweep has taken out of a list. Those
// that came from the remote list still count there, so that the count is settled first.
template <class Traits>
bool frontend<Traits>::fill_hole(span_type& hot) {
  if (refill(hot, 1)) return true;
  const size_class& kind = classes::table[hot.class_index.load(std::memory_order_relaxed)];
  while (hot.holes != 0) {
    const auto page = static_cast<std::uint32_t>(std::countr_zero(hot.holes));
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
