// A heap of spans of four blocks, a page each, of which thread 0 has a span that is to be drained.
#pragma once

#include "scalloc/holed_heap.h"

namespace heaplab::scalloc::testing {

constexpr config draining_config(unsigned most_cached = 2) {
  config result = paged_config<4>();
  result.most_cached = result.fewest_cached = most_cached;
  result.cache_step = 1;
  result.adopt_on_free = false;
  result.idle_class_spans = 1;
  return result;
}

template <class Sync, const config& Config>
struct drained_heap : holed_heap<Sync, Config> {
  explicit drained_heap(unsigned threads) : holed_heap<Sync, Config>(threads) {
    // The hot span, blocks 4 to 7, is dry. Of the other one block 0 is live, and blocks 1 to 3 are free in
    // its own list: another thread's frees, which the owner took when it looked for blocks.
    this->fill(8);
    for (unsigned index = 1; index < 4; ++index) this->release(1, index);
    this->empty_lists(1);
  }

  auto& sparse() { return this->span_of(this->blocks[0]); }
  bool is_drained() { return this->life.arena.list_of(this->blocks[0]) == 0; }
};

}  // namespace heaplab::scalloc::testing
