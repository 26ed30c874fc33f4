// Chunks that ended threads have not filled. Other threads fill them up: a program may start a million
// threads.
#pragma once

#include <algorithm>

#include "base/assertion.h"
#include "base/atomic.h"
#include "trace/raw/raw_file.h"

namespace heaplab::recorder {

class spare_chunks {
public:
  // Precondition: a chunk for records with room for one, which no thread uses. False: there is no room for
  // the chunk.
  bool give(trace::raw_chunk* chunk) {
    HEAPLAB_ASSERT(chunk->magic == trace::chunk_magic);
    HEAPLAB_ASSERT(chunk->next < chunk->bytes / sizeof(trace::raw_record) - 1);
    for (auto& slot : slots_) {
      trace::raw_chunk* none = nullptr;
      // release pairs with the acquire in take: the thread that takes the chunk sees the records written so
      // far.
      if (slot.compare_exchange_strong(none, chunk, std::memory_order_release, std::memory_order_relaxed))
        return true;
    }
    return false;
  }

  // Null: there is none.
  trace::raw_chunk* take() {
    for (auto& slot : slots_) {
      // relaxed: this check only saves the exchange.
      if (slot.load(std::memory_order_relaxed) == nullptr) continue;
      if (trace::raw_chunk* const chunk = slot.exchange(nullptr, std::memory_order_acquire)) return chunk;
    }
    return nullptr;
  }

  // relaxed: other threads give and take meanwhile.
  int count() const {
    return static_cast<int>(std::ranges::count_if(
        slots_, [](const auto& slot) { return slot.load(std::memory_order_relaxed) != nullptr; }));
  }

  // In a child of fork, which has none of its parent's chunks.
  void forget_all() {
    for (auto& slot : slots_) slot.store(nullptr, std::memory_order_relaxed);
  }

private:
  atomic<trace::raw_chunk*> slots_[64]{};
};

}  // namespace heaplab::recorder
