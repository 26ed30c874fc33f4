// What a thread leaves when it ends or trims: hot spans, listed blocks, batches. Included by frontend.h.
#pragma once

#include "allocators/scalloc/frontend/frontend.h"

namespace heaplab::scalloc {

template <class Traits>
void frontend<Traits>::abandon(lab_type& local) {
  if constexpr (Traits::settings.hardened) {
    local.quarantine.drain([&](void* block) { deallocate_later(local, *life_.spans().find(block), block); });
    for (auto& batch : local.remote) give_back(local, batch);
  }
  if constexpr (has_lists) empty_lists(local);
  retire_own_hot_spans(local);
  while (life_.hand_over_some(local)) continue;
}

template <class Traits>
void frontend<Traits>::retire_hot_spans(lab_type& local) {
  if constexpr (has_lists) empty_lists(local);
  const home_use<Traits> in(local);
  retire_own_hot_spans(in.home);
}

template <class Traits>
void frontend<Traits>::retire_own_hot_spans(lab_type& local) {
  for (span_type*& hot : local.hot) {
    if (hot == &no_span<Traits>) continue;
    life_.retire(local, *hot);
    hot = &no_span<Traits>;
  }
}

}  // namespace heaplab::scalloc
