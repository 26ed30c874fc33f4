#pragma once

#include <cstdint>

#include "base/cache_line.h"
#include "base/compiler.h"
#include "concurrent/sync.h"

namespace heaplab::concurrent {

// A lock-free LIFO stack (Treiber 1986) of equal elements side by side, which is full at first without any
// work. An element is named by its place, and takes `width` places. Its link, a 64-bit word, is the distance
// in places from the element behind it to the element below it in the stack: all links are zero at first, so
// that each element leads to its neighbour.
//
// Links stay readable for ever. A pop may read that of an element which another thread has just taken, whose
// owner may be writing to it: the tag then fails the compare-and-swap, and what was read is dropped.
// A tag comes back after 2^(64 - PlaceBits) pushes, and only a thread that slept through exactly as many
// would be deceived.
//
// Linearisable: push and pop take effect at their compare-and-swap, a pop that finds nothing at its load.
// Where no other thread is at the same stack, every call executes the same instructions.
template <class Sync, unsigned PlaceBits>
class alignas(cache_line_bytes) neighbour_stack {
public:
  static constexpr std::uint64_t none = ~std::uint64_t{0};

  // The elements end before the place `end`, which is below 2^PlaceBits. none: the stack is empty.
  template <class LinkOf>
  HEAPLAB_FAST_PATH std::uint64_t pop(std::uint64_t width, std::uint64_t end, LinkOf&& link_of) {
    // acquire pairs with push: the link is visible.
    std::uint64_t seen = head_.load(std::memory_order_acquire);
    for (;;) {
      const std::uint64_t place = seen & place_mask;
      if (place + width > end) [[unlikely]]
        return none;
      const std::uint64_t below = place + width + link_of(place).load(std::memory_order_relaxed);
      const std::uint64_t wanted = (seen & ~place_mask) | (below & place_mask);
      if (head_.compare_exchange_weak(seen, wanted, std::memory_order_acquire, std::memory_order_acquire))
        return place;
    }
  }

  // Precondition: the element is not in the stack.
  template <class LinkOf>
  HEAPLAB_FAST_PATH void push(std::uint64_t place, std::uint64_t width, LinkOf&& link_of) {
    std::uint64_t seen = head_.load(std::memory_order_relaxed);
    for (;;) {
      // relaxed: the release below publishes the link.
      link_of(place).store((seen & place_mask) - place - width, std::memory_order_relaxed);
      // An element returns to the head only by a push, so the tag of a push is enough against ABA.
      const std::uint64_t wanted = ((seen & ~place_mask) + next_tag) | place;
      // release pairs with the acquire in pop.
      if (head_.compare_exchange_weak(seen, wanted, std::memory_order_release, std::memory_order_relaxed))
        return;
    }
  }

private:
  static constexpr std::uint64_t next_tag = std::uint64_t{1} << PlaceBits;
  static constexpr std::uint64_t place_mask = next_tag - 1;

  // The place of the element on top, below a tag.
  typename Sync::template atomic<std::uint64_t> head_{0};
};

}  // namespace heaplab::concurrent
