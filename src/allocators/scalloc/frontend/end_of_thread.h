// What a thread leaves when it ends or trims: hot spans, listed blocks, batches.
#pragma once

#include "allocators/scalloc/frontend/batched_frees.h"
#include "allocators/scalloc/frontend/lab.h"
#include "allocators/scalloc/frontend/returned_blocks.h"
#include "allocators/scalloc/frontend/span_life.h"

namespace heaplab::scalloc {

// Hands all spans of `local` to the orphanage, and empty spans to the pool.
template <class Traits>
void abandon(span_life<Traits>& life, lab<Traits>& local) {
  if constexpr (Traits::config.hardened) {
    local.quarantine.drain(
        [&](void* block) { deallocate_later(life, local, *life.arena.find(block), block); });
    for (auto& batch : local.remote) flush_batch(life, local, batch);
  }
  if constexpr (lab<Traits>::has_lists) flush_lists(life, local);
  retire_own_hot_spans(life, local);
  while (life.abandon_some(local)) continue;
}

// The buffer has no listed block and its home no hot span any more, so that others may give back what is
// free in them. Called by the owner.
template <class Traits>
void retire_hot_spans(span_life<Traits>& life, lab<Traits>& local) {
  if constexpr (lab<Traits>::has_lists) flush_lists(life, local);
  const home_use<Traits> in(local);
  retire_own_hot_spans(life, in.home);
}

template <class Traits>
void retire_own_hot_spans(span_life<Traits>& life, lab<Traits>& local) {
  for (span<Traits>*& hot : local.hot) {
    if (hot == &no_span<Traits>) continue;
    life.retire(local, *hot);
    hot = &no_span<Traits>;
  }
}

}  // namespace heaplab::scalloc
