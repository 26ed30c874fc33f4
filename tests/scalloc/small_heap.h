// A frontend so small that its corners are near: spans of one page with a given number of blocks. Every heap
// that is made in one place has its atomics at the same addresses, by which the explorer knows them.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <initializer_list>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "allocators/scalloc/frontend/allocation.h"
#include "allocators/scalloc/frontend/freeing.h"
#include "allocators/scalloc/frontend/holes.h"
#include "allocators/scalloc/frontend/lab_registry.h"
#include "allocators/scalloc/frontend/returned_blocks.h"
#include "allocators/scalloc/frontend/span_life.h"
#include "allocators/scalloc/policy/variants.h"
#include "scalloc/every_step.h"
#include "scalloc/traits.h"

namespace heaplab::scalloc::testing {

// The one class the tests use: blocks of 256 bytes, `Blocks` in a span.
template <unsigned Blocks>
constexpr config small_config(unsigned reuse_percent = 50, bool eager_return = true,
                              bool reuse_newest = false) {
  config result = paper();
  result.name = "small";
  result.blocks_in_span = [](const config&, std::size_t) { return Blocks; };
  result.guards_tails = result.searches_from_first = false;
  result.span_header_bytes = 0;
  result.classes_per_doubling = 4;
  result.arena_bytes = 1 * mib;
  result.fine_span_bytes = 4 * kib;
  result.coarse_span_bytes = 4 * kib;
  result.fine_block_limit = result.span_block_limit = 256;
  result.reuse_percent = reuse_percent;
  result.refill_percent = reuse_percent;
  result.reuse_newest = reuse_newest;
  result.eager_return = eager_return;
  result.pool_column_limit = 2;
  result.purge_above = unlimited;
  return result;
}

template <unsigned Blocks>
constexpr config without_adoption(config result = small_config<Blocks>()) {
  result.adopt_on_free = false;
  return result;
}

// Threads have lists of at most so many free blocks, besides those with which a list is filled. Each free
// span lowers that limit by one, to `fewest`.
template <unsigned Blocks>
constexpr config listing_config(unsigned most, unsigned fewest) {
  config result = without_adoption<Blocks>();
  result.most_cached = most;
  result.fewest_cached = fewest;
  result.cache_step = 1;
  result.own_spans_per_column = 1;  // so that they can share
  return result;
}

// Of an idle class one span is handed over at a time.
template <unsigned Blocks>
constexpr config handing_over(config result = small_config<Blocks>()) {
  result.adopt_on_free = false;
  result.idle_class_spans = 1;
  return result;
}

template <unsigned Blocks>
constexpr config hardened_config(unsigned reuse_percent = 50) {
  config result = small_config<Blocks>(reuse_percent);
  result.hardened = true;
  result.canary_bytes = 8;
  result.arena_scatter_bytes = 0;
  return result;
}

template <class Sync, const config& Config, class Platform = system_platform>
class small_heap {
  using parts = test_traits<Sync, Config, Platform>;

public:
  using lab_type = lab<parts>;
  using span_type = span<parts>;
  static constexpr unsigned class_index = parts::classes::count - 1;

  explicit small_heap(unsigned threads) : labs(std::span(labs_).first(threads)) {
    require(life.open(tuning{Config}, 2), "no address space");
    for (unsigned thread = 0; thread < threads; ++thread) {
      labs[thread].emplace();
      labs[thread]->column = thread;
      labs[thread]->adopts = true;
    }
  }
  ~small_heap() { life.arena.close(); }

  void* allocate(unsigned thread, unsigned of_class = class_index) {
    lab_type& local = *labs[thread];
    void* block = try_allocate(local, of_class);
    bool is_zero;
    if (block == nullptr) block = allocate_slow(life, local, of_class, is_zero);
    require(block != nullptr, "out of memory");
    return block;
  }

  void free(unsigned thread, void* block) {
    lab_type& local = *labs[thread];
    span_type& span = span_of(block);
    if constexpr (Config.hardened) withdraw(span, block);
    bool due;
    if (try_deallocate(life, local, block, due)) {
      if (due) after_free(life, local, span);
    } else if (!list_again(life, local, block)) {
      send_home(life, local, span, block);
    }
  }

  // The thread looks for a span of another class, and on that occasion at the class of the tests
  // (abandon_idle). Returns the blocks of that span.
  std::vector<void*> look_at_class(unsigned thread) {
    constexpr unsigned other_class = class_index - 1;
    labs[thread]->class_to_look_at = class_index;
    std::vector<void*> others;
    for (unsigned step = 0; step < parts::classes::table[other_class].blocks; ++step)
      others.push_back(allocate(thread, other_class));
    return others;
  }

  // Blocks that leave a thread's quarantine together.
  void free_together(unsigned thread, std::initializer_list<void*> leaving) {
    returned_blocks back(life, *labs[thread]);
    for (void* const block : leaving) {
      withdraw(span_of(block), block);
      back.add(span_of(block), freed_block{block});
    }
  }

  // The thread takes blocks; others are freed by their numbers among those taken.
  void take(unsigned thread, unsigned count) {
    for (unsigned step = 0; step < count; ++step) blocks.push_back(allocate(thread));
  }
  void free(unsigned thread, std::initializer_list<unsigned> numbers) {
    for (const unsigned number : numbers) free(thread, blocks[number]);
  }

  // The threads before it share the spans of a buffer that no thread has.
  void share(unsigned home) {
    labs[home]->is_shared = true;
    for (unsigned thread = 0; thread < home; ++thread) labs[thread]->home = &*labs[home];
  }

  // What the thread has listed goes home.
  void empty_lists(unsigned thread) { retire_hot_spans(life, *labs[thread]); }

  void end_thread(unsigned thread) {
    labs[thread]->adopts = false;
    abandon(life, *labs[thread]);
    const bool is_empty = labs[thread]->floating[class_index].looks_empty() &&
                          labs[thread]->reusable[class_index].looks_empty();
    require(is_empty, "a thread that ended keeps spans");
  }

  span_type& span_of(void* block) {
    span_type* const span = life.arena.find(block);
    require(span != nullptr, "not in the arena");
    return *span;
  }

  span_state state_of(void* block) { return span_of(block).load_word(std::memory_order_seq_cst).state(); }

  // The free blocks in the lists of a thread.
  std::vector<void*> listed(unsigned thread) {
    std::vector<void*> result;
    if constexpr (lab_type::has_lists)
      for (unsigned index = 0; index < parts::classes::count; ++index) {
        const std::size_t before = result.size();
        labs[thread]->lists.for_each(index, [&](void* block) { result.push_back(block); });
        require(labs[thread]->lists.count(index) == result.size() - before, "a list is counted wrongly");
      }
    return result;
  }

  std::size_t spans_in(span_state state) {
    std::size_t result = 0;
    life.arena.for_each_span([&](span_type& span) {
      result += span.load_word(std::memory_order_seq_cst).state() == state ? 1U : 0U;
    });
    return result;
  }

  // What must hold at every step, whatever threads are at work.
  void check_step(const std::set<void*>& live) { steps_.check(life, labs, live); }

  // What must hold when no thread is at work, with `live` blocks out.
  void check(const std::set<void*>& live) {
    std::set<void*> used = live;
    for (unsigned thread = 0; thread < labs.size(); ++thread)
      for (void* const block : listed(thread))
        require(used.insert(block).second, "a listed block is live, or in two lists");
    std::size_t counted = 0, free_spans = 0, free_bytes = 0;
    life.arena.for_each_span([&](span_type& span) {
      const span_word word = span.load_word(std::memory_order_seq_cst);
      lab_type* const owner = span.owner(std::memory_order_seq_cst);
      if (word.state() == span_state::expected) return;  // its record was dropped
      require(life.is_in_page_map(span), "the map names another owner");
      if (word.state() == span_state::free) {
        ++free_spans;
        free_bytes += span.resident_bytes();
        require(span.is_free(), "a free span has an owner");
        return;
      }
      const auto out = span.used() - static_cast<std::int32_t>(word.remote_count());
      require(owner != nullptr, "a span that is not free has no owner");
      require(out >= 0, "more blocks are free than there are");
      counted += static_cast<std::size_t>(out);
      require(life.has_no_due_event(span), "an event is due that nobody has performed");
      require(life.is_listed(span), "a span is not in the list where its word says");
      if (word.state() == span_state::hot)
        require(span.counts_every_block(), "a hot span has lost a block");
      else if (owner != &life.orphanage && word.remote_count() > 0)
        require(!span.is_quietly_owned_by(*owner), "frees of the owner would not see remotely freed blocks");
    });
    for (const auto& local : labs) {
      require(local->is_valid(), "a list holds what is not its own");
      const span_type& hot = *local->hot[class_index];
      require(&hot == &no_span<parts> || hot.is_hot_in(*local, class_index),
              "a hot span is another thread's");
    }
    require(life.orphanage.is_valid(), "a list holds what is not its own");
    require(counted == used.size(), "the number of used blocks is wrong");
    require(life.pool.is_valid(), "an account exceeds its quota");
    if (life.pool.retains())
      require(life.pool.retained_bytes() == free_bytes, "retained memory is counted wrongly");
    std::set<span_type*> pooled;
    for (unsigned column = 0; column < 2; ++column)
      while (span_type* const span = life.pool.get(life.arena, class_index, column))
        require(pooled.insert(span).second, "a span is in the pool twice");
    require(pooled.size() == free_spans, "a free span is not in the pool");
    for (span_type* const span : pooled) life.pool.put(life.arena, *span, 0);
    // Every other block can still be had, once.
    std::set<void*> all = live;
    for (unsigned step = 0; step < 12; ++step)
      require(all.insert(allocate(0)).second, "a block was handed out twice");
  }

  span_life<parts> life;
  std::span<std::optional<lab_type>> labs;
  std::vector<void*> blocks;  // that were taken

private:
  std::array<std::optional<lab_type>, 4> labs_;
  every_step<parts> steps_;
};

}  // namespace heaplab::scalloc::testing
