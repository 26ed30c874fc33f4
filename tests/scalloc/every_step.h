// What holds of a small heap after every step of an exploration, also where threads are in the middle of a
// transition.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "allocators/scalloc/frontend/span_life.h"
#include "explore/explorer.h"

namespace heaplab::scalloc::testing {

using explore::require;

// Looks at one heap, after each operation on an atomic.
template <class Traits>
class every_step {
  using lab_type = lab<Traits>;
  using span_type = span<Traits>;
  using classes = typename Traits::classes;

public:
  // `live` blocks are out, and no thread is freeing them.
  template <class Labs>
  void check(span_life<Traits>& life, const Labs& labs, const std::set<void*>& live) {
    listed_.clear();
    life.arena.for_each_span([&](span_type& span) {
      check_transition(span);
      check_blocks(span);
      check_place(life, span);
    });
    if constexpr (lab_type::has_lists)
      for (const auto& local : labs)
        for (unsigned index = 0; index < classes::count; ++index)
          local->lists.for_each(index, [&](void* block) { list(true, block); });
    for (void* const block : live)
      require(!contains(listed_, block), "a live block is in a list of free blocks");
    for (const auto& local : labs) check_lists(*local);
    check_lists(life.orphanage);
    check_pool(life);
  }

private:
  static bool is_in_use(span_word word) {
    return word.state() != span_state::free && word.state() != span_state::expected;
  }
  static const size_class& kind_of(const span_type& span) {
    return classes::table[span.class_index.load(std::memory_order_relaxed)];
  }

  // One operation moves a word by one row of span_transitions at most.
  void check_transition(const span_type& span) {
    const span_word now = span.load_word(std::memory_order_relaxed);
    const auto [seen, is_new] = words_.try_emplace(&span, now);
    const span_word before = seen->second;
    seen->second = now;
    if (is_new || now == before) return;
    if (now.state() == span_state::expected) return;  // its record was dropped
    const auto event_is = [&](span_event event) {
      return before.allows(event) && next_state(before.state(), event) == now.state();
    };
    if (now.epoch() == before.epoch()) {
      require(event_is(span_event::push), "a word changed within its epoch, and not by a push");
      require(now.remote_count() > before.remote_count(), "a push has taken remotely freed blocks away");
      return;
    }
    require(now.epoch() == (before.epoch() + 1) % span_word::epoch_limit, "an epoch was left out");
    const bool takes_list = event_is(span_event::take) || event_is(span_event::refill);
    const bool keeps_list = event_is(span_event::retire) || event_is(span_event::mostly_free) ||
                            event_is(span_event::all_free) || event_is(span_event::reuse);
    require(takes_list || keeps_list, "a span moved as no row of the table says");
    require(now.remote_count() == (takes_list ? 0 : before.remote_count()),
            "an event has changed the remotely freed blocks");
  }

  // A free block is in one list, once.
  void check_blocks(const span_type& span) {
    const span_word word = span.load_word(std::memory_order_relaxed);
    if (!is_in_use(word)) return;
    for (void* block = span.local_list; block != nullptr; block = span.secrets.next_of(block))
      list(span.has_block_at(block, span.fresh), block);
    std::uint32_t left = word.remote_count();
    void* block = left > 0 ? span.base + word.remote_newest() : nullptr;
    for (; block != nullptr && left > 0; block = span.secrets.next_of(block), --left)
      list(span.has_block_at(block, span.fresh), block);
    // What a sweep has taken out of the list of a hot span counts there until the owner takes the list.
    const lab_type* const owner = span.owner(std::memory_order_relaxed);
    const std::uint32_t holes = span.holes | span.hot_holes.load(std::memory_order_relaxed);
    const bool changes = owner != nullptr && owner->lists_lock.was_held();
    require(block == nullptr && (changes || left <= blocks_in_holes(holes, kind_of(span), span.color)),
            "the word miscounts the remotely freed blocks");
    if (word.state() != span_state::hot)
      require(span.used() >= static_cast<std::int32_t>(word.remote_count()),
              "more blocks of a span are free than there are");
  }

  void list(bool belongs, void* block) {
    require(belongs, "a list holds what is no block of its span");
    require(!contains(listed_, block), "a free block is listed twice");
    listed_.push_back(block);
  }

  // Owner, map and hot span agree, unless a thread that holds the lock of the owner's lists changes them.
  static void check_place(const span_life<Traits>& life, const span_type& span) {
    const span_word word = span.load_word(std::memory_order_relaxed);
    const lab_type* const owner = span.owner(std::memory_order_relaxed);
    if (!is_in_use(word)) return;
    require(owner != nullptr, "a span in use has no owner");
    if (owner->lists_lock.was_held()) return;
    require(life.is_in_page_map(span), "the map names another owner");
    if (word.state() != span_state::hot) return;
    require(span.is_hot_in(*owner, span.class_index.load(std::memory_order_relaxed)),
            "a hot span is in a list");
    require(owner->hot[span.class_index.load(std::memory_order_relaxed)] == &span,
            "a hot span is not where its owner allocates");
  }

  static void check_lists(const lab_type& local) {
    if (!local.lists_lock.was_held()) require(local.is_valid(), "a list holds what is not its own");
  }

  void check_pool(span_life<Traits>& life) {
    pooled_.clear();
    life.pool.for_each(life.arena, [&](const span_type& span) {
      require(span.is_free(), "a span in the pool is in use");
      require(!contains(pooled_, &span), "a span is in the pool twice");
      pooled_.push_back(&span);
    });
  }

  // The lists are short.
  template <class T>
  static bool contains(const std::vector<T>& list, T wanted) {
    return std::find(list.begin(), list.end(), wanted) != list.end();
  }

  std::map<const span_type*, span_word> words_;
  std::vector<void*> listed_;             // free blocks
  std::vector<const span_type*> pooled_;  // spans in the pool
};

}  // namespace heaplab::scalloc::testing
