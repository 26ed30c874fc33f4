#pragma once

#include <cstdint>
#include <optional>

#include "base/cache_line.h"
#include "concurrent/sync.h"
#include "concurrent/tagged_index.h"

namespace heaplab::concurrent {

// A lock-free LIFO stack (Treiber 1986) of indices. The element with index i has its link in next_of(i), an
// atomic 32-bit word that the caller provides and that stays readable for ever: a pop may read the link of an
// element that another thread has just taken. An element is in at most one stack.
//
// Lock-free, not wait-free. Linearisable: push and pop take effect at their compare-and-swap, and a pop that
// finds the stack empty at its load.
template <class Sync>
class index_stack {
public:
  using link = typename Sync::template atomic<std::uint32_t>;

  template <class NextOf>
  void push(std::uint32_t index, NextOf&& next_of) {
    tagged_index old{head_.load(std::memory_order_relaxed)};
    for (;;) {
      // relaxed: the release below publishes the link.
      next_of(index).store(encode(old), std::memory_order_relaxed);
      // An element returns to the head only by a push, so the tag of a push is enough against ABA.
      const tagged_index top = old.with_next_tag().with_index(index);
      // release pairs with the acquire in try_pop: the pop sees the link, and all that the pushing thread
      // wrote.
      if (replace(old, top, std::memory_order_release)) return;
    }
  }

  template <class NextOf>
  std::optional<std::uint32_t> try_pop(NextOf&& next_of) {
    // acquire pairs with push.
    tagged_index old{head_.load(std::memory_order_acquire)};
    while (!old.is_none()) {
      const std::uint32_t index = old.index();
      const tagged_index below = decode(old, next_of(index).load(std::memory_order_relaxed));
      if (replace(old, below, std::memory_order_acquire)) return index;
    }
    return std::nullopt;
  }

  // Visits the indices from the newest on. Called while no thread changes the stack.
  template <class NextOf, class Visit>
  void for_each(NextOf&& next_of, Visit&& visit) const {
    tagged_index at{head_.load(std::memory_order_relaxed)};
    for (; !at.is_none(); at = decode(at, next_of(at.index()).load(std::memory_order_relaxed)))
      visit(at.index());
  }

  // A hint: true may be false the next moment.
  bool looks_empty() const { return tagged_index{head_.load(std::memory_order_relaxed)}.is_none(); }

private:
  static constexpr std::uint32_t none = tagged_index::index_limit;

  static std::uint32_t encode(tagged_index head) { return head.is_none() ? none : head.index(); }
  static tagged_index decode(tagged_index head, std::uint32_t link_value) {
    return link_value == none ? head.with_none() : head.with_index(link_value);
  }

  // On failure `old` becomes the present head.
  bool replace(tagged_index& old, tagged_index wanted, std::memory_order success) {
    std::uint64_t expected = old.word();
    if (head_.compare_exchange_weak(expected, wanted.word(), success, std::memory_order_acquire)) return true;
    old = tagged_index{expected};
    return false;
  }

  alignas(cache_line_bytes) typename Sync::template atomic<std::uint64_t> head_{0};
};

}  // namespace heaplab::concurrent
