// Between the lists of a thread (free_lists.h) and the spans: many blocks at a time.
#pragma once

#include <bit>
#include <cstdint>

#include "allocators/scalloc/frontend/freeing.h"
#include "allocators/scalloc/frontend/lab.h"
#include "allocators/scalloc/frontend/span_life.h"

namespace heaplab::scalloc {

// Blocks on their way home, live to their spans until then. Linked blocks of one span that follow each other
// go together. Those of another owner's span wait for others of the span: one compare-and-swap for
// all of them.
template <class Traits>
class returned_blocks {
public:
  returned_blocks(span_life<Traits>& life, lab<Traits>& local) : life_(life), in_(local) {}
  ~returned_blocks() {
    for (; waiting_ != 0; waiting_ &= waiting_ - 1) go(chains_[std::countr_zero(waiting_)]);
  }
  returned_blocks(const returned_blocks&) = delete;
  returned_blocks& operator=(const returned_blocks&) = delete;

  void add(void* newest, const size_class& kind) {
    if (kind.fine) return add<true>(newest);
    add<false>(newest);
  }

  // `freed`: a block, or linked blocks of the span.
  template <class Freed>
  void add(span<Traits>& span, Freed freed) {
    if (span.is_owned_by(in_.home)) {
      if (push(in_.home, span, freed)) after_free(life_, in_.home, span);
    } else {
      wait(span, {freed.newest(), freed.oldest(), freed.count()});
    }
  }

private:
  struct waiting_chain {
    scalloc::span<Traits>* span;
    freed_chain blocks;
  };

  template <bool Fine>
  void add(void* newest) {
    while (newest != nullptr) {
      span<Traits>& span = Fine ? life_.arena.fine_span_of(newest) : *life_.arena.find(newest);
      void* next = span.secrets.next_of(newest);
      if (!share_span<Fine>(newest, next)) [[likely]] {
        add(span, freed_block{newest});
      } else {
        freed_chain run{newest, newest, 1};
        for (; share_span<Fine>(newest, next); next = span.secrets.next_of(next), ++run.length)
          run.oldest_block = next;
        add(span, run);
      }
      newest = next;
    }
  }

  // Of a block and another or null. Spans begin at multiples of their size.
  template <bool Fine>
  static bool share_span(const void* block, const void* other) {
    return (std::bit_cast<std::uintptr_t>(block) ^ std::bit_cast<std::uintptr_t>(other)) <
           arena<Traits>::span_bytes(Fine);
  }

  void wait(span<Traits>& span, const freed_chain& run) {
    const unsigned index = life_.arena.number_of(span) % most_waiting;
    waiting_chain& chain = chains_[index];
    const bool is_waiting = (waiting_ >> index & 1) != 0;
    if (is_waiting && chain.span == &span) return chain.blocks.add(span.secrets, run);
    if (is_waiting) go(chain);
    chain = {&span, run};
    waiting_ |= 1U << index;
  }

  void go(const waiting_chain& chain) { deallocate_remote(life_, in_.home, *chain.span, chain.blocks); }

  static constexpr unsigned most_waiting = 16;
  span_life<Traits>& life_;
  const home_use<Traits> in_;
  std::uint32_t waiting_ = 0;  // bit i: chain i
  waiting_chain chains_[most_waiting];
};

// Frees marked blocks of one class, which were live until then.
template <class Traits>
void flush_blocks(span_life<Traits>& life, lab<Traits>& local, unsigned class_index, void* const* blocks,
                  unsigned count) {
  void* newest = nullptr;
  for (; count > 0; --count, newest = *blocks++) *static_cast<void**>(*blocks) = newest;
  returned_blocks(life, local).add(newest, Traits::classes::table[class_index]);
}

template <class Traits>
void flush_lists(span_life<Traits>& life, lab<Traits>& local) {
  returned_blocks back(life, local);
  local.lists.cut_all(
      [&back](unsigned class_index, void* newest) { back.add(newest, Traits::classes::table[class_index]); });
}

template <class Traits>
void flush_list(span_life<Traits>& life, lab<Traits>& local, unsigned list) {
  const size_class& kind = Traits::classes::table[list_numbers<Traits::config>::class_of[list]];
  returned_blocks(life, local).add(local.lists.cut(list), kind);
}

// Whether the list of the thread's buffer takes the block, after a part of the list went home.
template <class Traits>
bool list_again(span_life<Traits>& life, lab<Traits>& local, void* block) {
  if constexpr (lab<Traits>::has_lists) {
    const unsigned list = life.arena.list_of(block);
    if (list == 0) local.lists.refuse(0);
    if (list == 0 || looks_free(life, block)) return false;
    mark_free(life, block);
    put_in_list(life, local, list, block);
    return true;
  }
  return false;
}

// Puts a marked block into a list of the buffer.
template <class Traits>
void put_in_list(span_life<Traits>& life, lab<Traits>& local, unsigned list, void* block) {
  if (local.lists.has_room(list)) return local.lists.push(list, block);
  flush_list(life, local, list);
  local.lists.push_new(list, block);
}

}  // namespace heaplab::scalloc
