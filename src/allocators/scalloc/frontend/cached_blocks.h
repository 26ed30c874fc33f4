// Cached blocks: blocks in the local list of a hot span that belong to other spans of the same owner and
// class. Included by frontend.h.
//
// The block that was freed last is the best one to hand out next: it is in the cache, and its span need not
// change hands. So what the owner frees goes to the hot span, whichever span the block came from, while the
// hot span has room.
//
//   The span of a cached block counts the block as used, so that no thread takes the span for empty.
//   The hot span counts a cached block as a block of its own that came back, and its next malloc counts the
//   block out again. So the owner's malloc knows nothing of cached blocks, and the count of a hot span may
//   fall below zero by the number of its cached blocks. No other thread acts on that count while the span is
//   hot. A hot span retires when its list is empty, and so without cached blocks, or after these were
//   returned to their spans.
//
// How many. A cached block keeps its span from becoming empty. A program that replaces blocks loses nothing
// by that, and its hot spans are followed by reusable ones: a reusable span raises the limit to the most. A
// program that allocates much and later frees all, in whatever order, would keep a span for each cached
// block; its hot spans are followed by free ones: each lowers the limit by a step.
#pragma once

#include <algorithm>
#include <cstdint>

#include "allocators/scalloc/frontend/frontend.h"
#include "base/narrow.h"

namespace heaplab::scalloc {

// The same as cache, for a block that does not take the fast path. False: nothing was done.
template <class Traits>
bool frontend<Traits>::try_cache(const lab_type& local, const span_type& span, void* block) {
  const unsigned class_index = span.class_index.load(std::memory_order_relaxed);
  span_type& hot = *local.hot[class_index];
  if (!has_room(hot)) return false;
  cache(hot, block);
  HEAPLAB_ASSERT_EXPENSIVE(is_counted(hot));
  return true;
}

// Called when a reusable span follows the hot one.
template <class Traits>
void frontend<Traits>::cache_more(lab_type& local, unsigned class_index) {
  local.cache_limit[class_index] = classes::table[class_index].most_cached;
}

// Called when a free span follows the hot one.
template <class Traits>
void frontend<Traits>::cache_fewer(lab_type& local, unsigned class_index) {
  const int limit = local.cache_limit[class_index] - narrow<int>(Traits::settings.cache_step);
  local.cache_limit[class_index] =
      narrow<std::uint8_t>(std::max<int>(limit, classes::table[class_index].fewest_cached));
}

template <class Traits>
void frontend<Traits>::return_cached_blocks(lab_type& local) {
  for (unsigned index = 0; index < classes::count; ++index) return_cached_blocks(local, *local.hot[index]);
}

// In a child of fork the count may be wrong by one. Without cached blocks the count is known from the list,
// and is set anew. What is in no list then counts as used, holes as well: the child loses those blocks, and
// hands none out twice.
template <class Traits>
void frontend<Traits>::return_cached_blocks(lab_type& local, span_type& hot) {
  if (&hot == &no_span<Traits>) return;
  void* own = nullptr;  // the last block of the hot span itself that was passed
  std::uint32_t listed = 0, cached = 0;
  for (void* block = hot.local_list; block != nullptr;) {
    void* const current = block;
    block = hot.secrets.next_of(current);
    if (!hot.is_cached(current)) {
      own = current;
      ++listed;
      continue;
    }
    ++cached;
    if (own == nullptr) {
      hot.local_list = block;
    } else {
      hot.secrets.link(own, block);
    }
    span_type& home = *life_.spans().find(current);
    // A span that was handed over is another's (hand_over_idle).
    if (home.owner(std::memory_order_relaxed) != &local)
      deallocate_remote(local, home, freed_block{current});
    else if (push(local, home, current))
      after_free(local, home);
  }
  if (!counts_are_exact_) hot.holes = 0;
  const std::int32_t used = counts_are_exact_
                                ? hot.used() + narrow<std::int32_t>(cached)
                                : narrow<std::int32_t>(hot.fresh) - narrow<std::int32_t>(listed);
  hot.set_used(used, life_type::hot_floor(local, hot.class_index.load(std::memory_order_relaxed)));
  HEAPLAB_ASSERT_EXPENSIVE(is_counted(hot));
}

}  // namespace heaplab::scalloc
