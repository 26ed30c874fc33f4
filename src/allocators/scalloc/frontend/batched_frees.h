// Blocks of other owners' spans that leave quarantine wait in the thread's buffer, a batch for each size
// class, and go back together.
//
// A block in a batch counts as used, so that its span stays what it is. If the thread becomes the owner of
// the span meanwhile, the batch joins the remote list all the same, as a free by any other thread does.
#pragma once

#include "allocators/scalloc/frontend/freeing.h"
#include "allocators/scalloc/frontend/lab.h"
#include "allocators/scalloc/frontend/span_life.h"

namespace heaplab::scalloc {

// Of a hardened heap, with a block that leaves quarantine and that try_deallocate has not taken: gives the
// block back, or lets it wait for others of its span.
template <class Traits>
void deallocate_later(span_life<Traits>& life, lab<Traits>& local, span<Traits>& span, void* block) {
  auto& batch = local.remote[span.class_index.load(std::memory_order_relaxed)];
  if (!batch.is_of(span)) return begin_batch(life, local, span, block);
  batch.add(span, block);
  if (is_full(batch, span)) flush_batch(life, local, batch);
}

template <class Traits>
[[gnu::noinline]] void begin_batch(span_life<Traits>& life, lab<Traits>& local, span<Traits>& span,
                                   void* block) {
  if (span.owner(std::memory_order_relaxed) == &local) return send_home(life, local, span, block);
  auto& batch = local.remote[span.class_index.load(std::memory_order_relaxed)];
  flush_batch(life, local, batch);
  batch.begin(span, block);
  if (is_full(batch, span)) flush_batch(life, local, batch);
}

template <class Traits, class Batch>
bool is_full(const Batch& batch, const span<Traits>& span) {
  return batch.count() >= Traits::config.remote_batch_blocks ||
         batch.count() * span.secrets.block_bytes() >= Traits::config.remote_batch_bytes;
}

template <class Traits, class Batch>
[[gnu::noinline]] void flush_batch(span_life<Traits>& life, lab<Traits>& local, Batch& batch) {
  batch.take(
      [&](span<Traits>& span, const freed_chain& freed) { deallocate_remote(life, local, span, freed); });
}

}  // namespace heaplab::scalloc
