// Between the lists of a thread (free_lists.h) and the spans: many blocks at a time. Included by frontend.h.
#pragma once

#include <algorithm>
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
  returned_blocks(frontend& front, lab_type& local) : front_(front), local_(local) {}
  ~returned_blocks() {
    for (; waiting_ != 0; waiting_ &= waiting_ - 1) go(chains_[std::countr_zero(waiting_)]);
  }
  returned_blocks(const returned_blocks&) = delete;
  returned_blocks& operator=(const returned_blocks&) = delete;

  void add(void* newest, const size_class& kind) {
    const arena<Traits>& spans = front_.spans();
    const std::size_t bytes = spans.span_bytes(kind.fine);
    while (newest != nullptr) {
      span_type& span = kind.fine ? spans.fine_span_at(spans.step_of(newest)) : *spans.find(newest);
      freed_chain run{newest, newest, 1};
      // Null is no block of the span either.
      void* next;
      while (span.distance_to(next = span.secrets.next_of(run.oldest_block)) < bytes) {
        run.oldest_block = next;
        ++run.length;
      }
      add(span, run);
      newest = next;
    }
  }

private:
  struct waiting_chain {
    span_type* span;
    freed_chain blocks;
  };

  void add(span_type& span, const freed_chain& run) {
    if (span.owner(std::memory_order_relaxed) == &local_) {
      if (push(local_, span, run)) front_.after_free(local_, span);
      return;
    }
    const unsigned index = front_.spans().number_of(span) % most_waiting;
    waiting_chain& chain = chains_[index];
    const bool is_waiting = (waiting_ >> index & 1) != 0;
    if (is_waiting && chain.span == &span) return chain.blocks.add(span.secrets, run);
    if (is_waiting) go(chain);
    chain = {&span, run};
    waiting_ |= 1U << index;
  }

  void go(const waiting_chain& chain) { front_.deallocate_remote(local_, *chain.span, chain.blocks); }

  static constexpr unsigned most_waiting = 16;
  frontend& front_;
  lab_type& local_;
  std::uint32_t waiting_ = 0;  // bit i: chain i
  waiting_chain chains_[most_waiting];
};

template <class Traits>
void frontend<Traits>::take_back(lab_type& local, unsigned class_index, void* const* blocks, unsigned count) {
  void* newest = nullptr;
  for (; count > 0; --count, newest = *blocks++) *static_cast<void**>(*blocks) = newest;
  returned_blocks(*this, local).add(newest, classes::table[class_index]);
}

// The first block is for the caller, the others of the hot span's list for the thread's, which is empty.
// Precondition: the hot span has a block.
template <class Traits>
void* frontend<Traits>::pop_and_fill(lab_type& local, unsigned class_index, span_type& hot) {
  void* const block = pop(hot);
  if constexpr (has_lists)
    if (hot.local_list != nullptr) {
      const std::int32_t before = hot.used();
      void* const others = hot.take_all();
      // In a child of fork blocks of the list may have counted as used already.
      const std::int32_t taken = std::max(hot.used() - before, 0);
      local.lists.fill(class_index, others, narrow<std::uint32_t>(taken));
    }
  return block;
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
