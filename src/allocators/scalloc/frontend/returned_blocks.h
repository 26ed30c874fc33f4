// Between the lists of a thread (free_lists.h) and the spans: many blocks at a time. Included by frontend.h.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "allocators/scalloc/frontend/frontend.h"
#include "base/narrow.h"

namespace heaplab::scalloc {

// Linked blocks on their way home, marked, and live to their spans until then. Blocks of one span that follow
// each other go together. Those of another owner's span wait for others of the span: one compare-and-swap for
// all of them.
template <class Traits>
class frontend<Traits>::returned_blocks {
public:
  returned_blocks(frontend& front, lab_type& local) : front_(front), in_(local) {}
  ~returned_blocks() {
    for (; waiting_ != 0; waiting_ &= waiting_ - 1) go(chains_[std::countr_zero(waiting_)]);
  }
  returned_blocks(const returned_blocks&) = delete;
  returned_blocks& operator=(const returned_blocks&) = delete;

  void add(void* newest, const size_class& kind) {
    if (kind.fine) return add<true>(newest);
    add<false>(newest);
  }

private:
  struct waiting_chain {
    span_type* span;
    freed_chain blocks;
  };

  template <bool Fine>
  void add(void* newest) {
    while (newest != nullptr) {
      span_type& span = Fine ? front_.spans().fine_span_of(newest) : *front_.spans().find(newest);
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

  template <class Freed>
  void add(span_type& span, Freed freed) {
    if (span.is_owned_by(in_.home)) {
      if (push(in_.home, span, freed)) front_.after_free(in_.home, span);
    } else {
      wait(span, {freed.newest(), freed.oldest(), freed.count()});
    }
  }

  void wait(span_type& span, const freed_chain& run) {
    const unsigned index = front_.spans().number_of(span) % most_waiting;
    waiting_chain& chain = chains_[index];
    const bool is_waiting = (waiting_ >> index & 1) != 0;
    if (is_waiting && chain.span == &span) return chain.blocks.add(span.secrets, run);
    if (is_waiting) go(chain);
    chain = {&span, run};
    waiting_ |= 1U << index;
  }

  void go(const waiting_chain& chain) { front_.deallocate_remote(in_.home, *chain.span, chain.blocks); }

  static constexpr unsigned most_waiting = 16;
  frontend& front_;
  const home_use<Traits> in_;
  std::uint32_t waiting_ = 0;  // bit i: chain i
  waiting_chain chains_[most_waiting];
};

template <class Traits>
void frontend<Traits>::take_back(lab_type& local, unsigned class_index, void* const* blocks, unsigned count) {
  void* newest = nullptr;
  for (; count > 0; --count, newest = *blocks++) *static_cast<void**>(*blocks) = newest;
  returned_blocks(*this, local).add(newest, classes::table[class_index]);
}

// The blocks of the hot span's list are for the thread's, which is empty, and the first of them for the
// caller; of a shared span no more than the thread's list may hold. Precondition: the hot span has a block.
template <class Traits>
HEAPLAB_FAST_PATH void* frontend<Traits>::pop_and_fill(lab_type& local, unsigned class_index,
                                                       span_type& hot) {
  if constexpr (has_lists)
    if (hot.secrets.next_of(hot.local_list) != nullptr) {
      std::uint32_t count;
      const bool is_shared = local.shares_home();
      void* const first =
          is_shared ? hot.take(local.lists.limit_of(class_index), count) : hot.take_all(count);
      local.lists.fill(class_index, first, count);
      if (is_shared) local.lists.raise_shared_limit(class_index);
      return local.lists.pop(class_index);
    }
  return pop(hot);
}

template <class Traits>
void frontend<Traits>::make_room(lab_type& local, unsigned class_index) {
  returned_blocks(*this, local).add(local.lists.cut(class_index), classes::table[class_index]);
}

template <class Traits>
void frontend<Traits>::empty_lists(lab_type& local) {
  returned_blocks back(*this, local);
  for (unsigned index = 0; index < classes::count; ++index)
    back.add(local.lists.cut_all(index), classes::table[index]);
}

}  // namespace heaplab::scalloc
