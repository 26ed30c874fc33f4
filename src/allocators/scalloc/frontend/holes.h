// Holes: whole pages of a span in use that hold nothing but free blocks. The blocks that begin in such a page
// leave their lists, since a link would keep the page; the record of the span names the page instead.
//
// Rules that let the owner, and other threads, free blocks of the span at the same time:
//
//   They only put blocks in front of the first block of a list. So that block stays, and with it the page
//   that has its link; of the other links the sweep may change every one.
//
//   Nobody takes blocks from the span: the span is not hot, and becomes hot only under the lock that the
//   caller holds.
//
// This is how pages leave spans, and how their blocks come back; hole_sweep.h looks for them.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "allocators/scalloc/frontend/freeing.h"
#include "allocators/scalloc/frontend/lab.h"
#include "allocators/scalloc/frontend/span_life.h"
#include "allocators/scalloc/policy/size_classes.h"
#include "allocators/scalloc/spans/span.h"
#include "base/assertion.h"
#include "base/atomic.h"
#include "base/bits.h"
#include "base/compiler.h"
#include "base/narrow.h"
#include "base/os_pages.h"

namespace heaplab::scalloc {

// All functions are called by the holder of the lock of the lists of the span's owner, while the span is not
// hot; or for a chain of free blocks that the caller alone has.
template <class Traits>
class span_holes {
  using span_type = span<Traits>;
  static constexpr std::uint32_t most_pages = 32, most_blocks = 8'192;

public:
  span_holes(span_type& span, const size_class& kind)
      : span_(span), kind_(kind), known_(span.holes), firsts_{local_first(span), remote_first(span)} {}
  // Of the blocks of a chain alone.
  span_holes(span_type& span, const size_class& kind, void* chain)
      : span_(span), kind_(kind), known_(0), firsts_{chain, nullptr} {}

  // Whether a record can name the pages of such a span.
  static bool are_named(const size_class& kind) {
    return pages_of(kind) <= most_pages && kind.blocks <= most_blocks;
  }

  // Takes the blocks of all holes out of the lists. Returns the holes, for the record. Precondition:
  // are_named(kind).
  std::uint32_t detach() {
    const std::uint32_t found = find();
    if (found == 0) return 0;
    for (void* const first : firsts_)
      if (first != nullptr) unlink(first, found);
    return found;
  }

  // The holes that the record does not name yet. 0 as well where a list is damaged, as by a program that
  // wrote to a freed block. Precondition: are_named(kind).
  HEAPLAB_FAST_PATH std::uint32_t find() const {
    // Unchecked access: the checked one throws, and needs the C++ library.
    std::bitset<most_blocks> is_free;
    std::uint32_t kept = known_;
    for (void* const first : firsts_) {
      if (first == nullptr) continue;
      kept |= bit_of(first);
      if (!for_each(first, [&](void* block) { is_free[number_of(block)] = true; })) return 0;
    }
    for (std::uint32_t page = 0; page < pages_of(kind_); ++page)
      if ((known_ >> page & 1) != 0) {
        const block_range in = blocks_beginning_in(page, kind_, span_.color);
        for (std::uint32_t block = in.first; block < in.end; ++block) is_free[block] = true;
      }
    std::uint32_t found = 0;
    for (std::uint32_t page = 0; page < pages_of(kind_); ++page)
      if ((kept >> page & 1) == 0 && is_whole(page, is_free)) found |= std::uint32_t{1} << page;
    return found;
  }

  // Calls visit(begin, bytes) for the whole pages inside each free block that has such pages behind its link.
  // The blocks stay in their lists. For spans whose pages are not named.
  template <class Visit>
  void for_each_inside(Visit&& visit) const {
    for (void* const first : firsts_)
      for_each(first, [&](void* block) {
        const std::size_t offset = span_.offset_of(block);
        const std::size_t begin = align_up(offset + sizeof(void*), os_pages::page_bytes());
        const std::size_t end = align_down(offset + kind_.block_bytes, os_pages::page_bytes());
        if (begin < end) visit(span_.base + begin, end - begin);
      });
  }

  // The last block of the chain. Null: what follows some block is none of the span.
  void* last() const {
    void* result = nullptr;
    return for_each(firsts_[0], [&](void* block) { result = block; }) ? result : nullptr;
  }

private:
  // acquire pairs with push (freeing.h): the link of that block is visible.
  static void* local_first(span_type& span) {
    return atomic_ref<void*>(span.local_list).load(std::memory_order_acquire);
  }
  // acquire pairs with push_remote.
  static void* remote_first(const span_type& span) {
    const span_word word = span.load_word(std::memory_order_acquire);
    return word.remote_count() > 0 ? span.base + word.remote_newest() : nullptr;
  }

  std::uint32_t number_of(const void* block) const {
    return (span_.offset_of(block) - span_.color) / kind_.block_bytes;
  }
  std::uint32_t bit_of(const void* block) const {
    return std::uint32_t{1} << span_.offset_of(block) / os_pages::page_bytes();
  }

  // Visits the blocks of a list. False: what follows the blocks that were visited is no list of blocks.
  template <class Visit>
  bool for_each(void* block, Visit&& visit) const {
    for (std::uint32_t left = kind_.blocks; block != nullptr; block = span_.secrets.next_of(block), --left) {
      if (left == 0 || !span_.has_block_at(block, kind_.blocks)) return false;
      visit(block);
    }
    return true;
  }

  // Fresh blocks are in no list, and so are not free here. A page without blocks holds nothing to be given
  // back.
  bool is_whole(std::uint32_t page, const std::bitset<most_blocks>& is_free) const {
    const block_range in = blocks_touching(page, kind_, span_.color);
    for (std::uint32_t block = in.first; block < in.end; ++block)
      if (!is_free[block]) return false;
    return in.first < in.end;
  }

  // Every store leaves a list that is whole: a child of fork may find any of them.
  void unlink(void* first, std::uint32_t pages) {
    void* last = first;
    for (void* block = span_.secrets.next_of(first); block != nullptr;) {
      void* const next = span_.secrets.next_of(block);
      if ((bit_of(block) & pages) == 0) {
        if (span_.secrets.next_of(last) != block) span_.secrets.link(last, block);
        last = block;
      }
      block = next;
    }
    if (span_.secrets.next_of(last) != nullptr) span_.secrets.link(last, nullptr);
  }

  span_type& span_;
  const size_class& kind_;
  // The holes there are.
  const std::uint32_t known_;
  // Of the local and of the remote list, or of the chain.
  const std::array<void*, 2> firsts_;
};

// Returns act(owner), called under the lock of the lists of the span's owner. False: the span has no owner,
// or is hot.
template <class Traits, class Act>
bool with_lists(span<Traits>& span, Act&& act) {
  lab<Traits>* const owner = span.owner(std::memory_order_acquire);
  if (owner == nullptr) return false;
  const concurrent::lock_holder hold(owner->lists_lock);
  if (span.owner(std::memory_order_relaxed) != owner) return false;
  const span_state state = span.load_word(std::memory_order_acquire).state();
  return (state == span_state::floating || state == span_state::reusable) && act(*owner);
}

// Called by one sweep at a time, once for a span until end_purge. True: find() found holes, under the lock of
// the lists of the span's owner, and until end_purge nobody takes blocks from the span, which is not hot.
template <class Traits, class Find>
bool begin_purge(span_life<Traits>& life, span<Traits>& span, Find&& find) {
  return with_lists(span, [&](lab<Traits>& owner) {
    HEAPLAB_ASSERT(span.purging == purge_state::none);
    span.holes |= span.hot_holes.exchange(0, std::memory_order_relaxed);
    life.drain_if_sparse(span);
    if (!find()) return false;
    span.purging = purge_state::under_way;
    life.relist(owner, span);
    return true;
  });
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
  const size_class& kind = hot.kind();
  while (hot.holes != 0) {
    const auto page = narrow<std::uint32_t>(std::countr_zero(hot.holes));
    const block_range in = blocks_beginning_in(page, kind, hot.color);
    hot.holes &= hot.holes - 1;
    // A fork may copy this thread at any instruction. This order loses blocks in the child, and hands none
    // out twice.
    std::atomic_signal_fence(std::memory_order_seq_cst);
    if (in.first == in.end) continue;
    void* const first = hot.link_blocks(in.first, in.end - in.first, kind);
    std::atomic_signal_fence(std::memory_order_seq_cst);
    hot.local_list = first;
    return true;
  }
  return false;
}

}  // namespace heaplab::scalloc
