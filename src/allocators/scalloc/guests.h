// Guests: blocks in the local list of a hot span that belong to other spans of the same owner and class.
// Included by frontend.h.
//
// In a span of few blocks, nearly every free makes the span reusable, and nearly every malloc retires one. A
// guest spares both: the freed block is handed out again while its span stays what it is.
//
//   The span of a guest counts the guest as used, so that no thread takes the span for empty.
//   The hot span counts a guest as a block of its own that came back, and its next malloc counts the guest
//   out again. So the owner's malloc knows nothing of guests, and the count of a hot span may fall below zero
//   by the number of its guests. No other thread acts on that count while the span is hot. A hot span retires
//   when its list is empty, and so without guests, or after they were sent home.
//
// A span that is not hot keeps the attention bit, where its class has guests, so that the owner's frees come
// here.
#pragma once

#include <cstdint>

#include "allocators/scalloc/frontend.h"

namespace heaplab::scalloc {

// Makes a freed block of the owner's span `it` a guest of the hot span of the class. False: nothing was done.
template <class Traits>
bool frontend<Traits>::put_up(lab_type& local, span_type& it, void* block) {
  const unsigned class_index = it.class_index.load(std::memory_order_relaxed);
  span_type& hot = *local.hot[class_index];
  if (hot.local_list == block) refuse_double_free(block);
  const std::int32_t free_blocks = static_cast<std::int32_t>(hot.fresh) - hot.used();
  if (free_blocks >= classes::table[class_index].guest_limit || &hot == &it || &hot == &no_span<Traits>)
    return false;
  push(local.identity, hot, block);
  HEAPLAB_ASSERT_EXPENSIVE(is_counted(hot));
  return true;
}

template <class Traits>
void frontend<Traits>::send_guests_home(lab_type& local) {
  for (unsigned index = 0; index < classes::count; ++index)
    if (takes_guests(index)) send_guests_home(local, *local.hot[index]);
}

// In a child of fork the count may be wrong by one. Without guests the count is known from the list, and is
// set anew. What is in no list then counts as used, holes as well: the child loses those blocks, and hands
// none out twice.
template <class Traits>
void frontend<Traits>::send_guests_home(lab_type& local, span_type& hot) {
  if (&hot == &no_span<Traits>) return;
  void* own = nullptr;  // the last block of the hot span itself that was passed
  std::uint32_t listed = 0, guests = 0;
  for (void* block = hot.local_list; block != nullptr;) {
    void* const it = block;
    block = hot.secrets.next_of(it);
    if (!hot.is_guest(it)) {
      own = it;
      ++listed;
      continue;
    }
    ++guests;
    if (own == nullptr) {
      hot.local_list = block;
    } else {
      hot.secrets.link(own, block);
    }
    span_type& home = *spans_.find(it);
    if (push(local.identity, home, it)) after_free(local, home);
  }
  if (!counts_are_exact_) hot.holes = 0;
  const std::int32_t used = counts_are_exact_ ? hot.used() + static_cast<std::int32_t>(guests)
                                              : static_cast<std::int32_t>(hot.fresh - listed);
  hot.set_used(used, hot_floor(hot.class_index.load(std::memory_order_relaxed)));
  HEAPLAB_ASSERT_EXPENSIVE(is_counted(hot));
}

}  // namespace heaplab::scalloc
