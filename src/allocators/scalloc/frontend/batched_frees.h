// Blocks of other owners' spans that leave quarantine wait in the thread's buffer, a batch for each size
// class, and go back together. Included by frontend.h.
//
// A block in a batch counts as used, so that its span stays what it is. If the thread becomes the owner of
// the span meanwhile, the batch joins the remote list all the same, as a free by any other thread does.
#pragma once

#include "allocators/scalloc/frontend/frontend.h"

namespace heaplab::scalloc {

template <class Traits>
void frontend<Traits>::deallocate_later(lab_type& local, span_type& span, void* block) {
  auto& batch = local.remote[span.class_index.load(std::memory_order_relaxed)];
  if (!batch.is_of(span)) return begin_batch(local, span, block);
  batch.add(span, block);
  if (is_full(batch, span)) give_back(local, batch);
}

template <class Traits>
[[gnu::noinline]] void frontend<Traits>::begin_batch(lab_type& local, span_type& span, void* block) {
  if (span.owner(std::memory_order_relaxed) == &local) return send_home(local, span, block);
  auto& batch = local.remote[span.class_index.load(std::memory_order_relaxed)];
  give_back(local, batch);
  batch.begin(span, block);
  if (is_full(batch, span)) give_back(local, batch);
}

template <class Traits>
template <class Batch>
bool frontend<Traits>::is_full(const Batch& batch, const span_type& span) {
  return batch.count() >= Traits::settings.remote_batch_blocks ||
         batch.count() * span.secrets.block_bytes() >= Traits::settings.remote_batch_bytes;
}

template <class Traits>
template <class Batch>
[[gnu::noinline]] void frontend<Traits>::give_back(lab_type& local, Batch& batch) {
  batch.take([&](span_type& span, const freed_chain& freed) { deallocate_remote(local, span, freed); });
}

}  // namespace heaplab::scalloc
