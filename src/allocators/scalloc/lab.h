#pragma once

#include <cstdint>

#include "allocators/scalloc/span.h"
#include "base/cache_line.h"
#include "concurrent/checked_deque.h"
#include "concurrent/futex_lock.h"

namespace heaplab::scalloc {

// What every hot span that is not there stands for: it has no block, and nobody owns it. Never written.
template <class Traits>
inline constinit span<Traits> no_span;

// A local allocation buffer: the hot span and the spans that are not hot, for each size class (paper, section
// 5). Owned by one thread, or shared by several that take use_lock around every operation.
template <class Traits>
struct lab {
  using sync = typename Traits::sync;
  using span_type = span<Traits>;
  static constexpr unsigned class_count = Traits::classes::count;

  // One for each class. Owner only.
  span_type* hot[class_count];

  // Guards the lists below, the hooks of the spans in them, and `owner` of every span of this buffer.
  // Order: use_lock before lists_lock; a thread's own lists_lock before that of the orphanage.
  alignas(cache_line_bytes) concurrent::futex_lock<sync> lists_lock;
  concurrent::futex_lock<sync> use_lock;
  // Even, and no other buffer's: the thread pointer of the thread it belongs to, or its own address.
  std::uintptr_t identity = 0;
  // Whether it adopts orphans: it belongs to a living thread.
  bool adopts = false;
  // Which column of the span-pool its spans go to.
  std::uint32_t column = 0;
  // Of the registry, under its lock.
  std::uint32_t threads = 0;
  lab* next_idle = nullptr;
  lab* next_known = nullptr;

  concurrent::checked_deque<sync, span_type> floating[class_count];
  concurrent::checked_deque<sync, span_type> reusable[class_count];

  // Whether the lists are whole and hold this buffer's spans alone. By the holder of lists_lock; walks them.
  bool is_valid() const {
    const auto holds_own = [this](const auto& list, unsigned index) {
      for (const span_type* it = list.oldest(); it != nullptr; it = it->hook.newer)
        if (it->owner(std::memory_order_relaxed) != this ||
            it->class_index.load(std::memory_order_relaxed) != index)
          return false;
      return true;
    };
    for (unsigned index = 0; index < class_count; ++index)
      for (const auto* const list : {&floating[index], &reusable[index]})
        if (!list->is_valid() || !holds_own(*list, index)) return false;
    return true;
  }

  constexpr lab() {
    for (span_type*& it : hot) it = &no_span<Traits>;
  }
};

}  // namespace heaplab::scalloc
