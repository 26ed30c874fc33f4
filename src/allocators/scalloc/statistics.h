// What scalloc says about itself: for mallinfo2 and its relatives, and for a reader.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "allocators/scalloc/frontend/span_life.h"
#include "allocators/scalloc/large/large.h"
#include "base/compiler.h"
#include "base/heap_concept.h"
#include "base/narrow.h"
#include "base/text_line.h"

namespace heaplab::scalloc {

// Other threads may be at work: the sums are of slightly different moments.
template <class Traits>
HEAPLAB_SLOW_PATH heap_statistics statistics_of(span_life<Traits>& life, large_blocks<Traits>& large) {
  heap_statistics result{
      .reserved = life.arena.bytes(), .mapped = large.live_bytes(), .mappings = large.count()};
  life.arena.for_each_span([&result](const span<Traits>& span) {
    const span_word word = span.load_word(std::memory_order_acquire);
    const size_class& kind = Traits::classes::table[span.class_index.load(std::memory_order_relaxed)];
    result.committed += span.resident_bytes();
    if (!word.allows(span_event::push)) return;
    const auto out = span.used() - narrow<std::int32_t>(word.remote_count());
    const auto live = std::min(narrow<std::uint32_t>(std::max(out, 0)), kind.blocks);
    result.live += std::size_t{live} * kind.block_bytes;
    result.free_blocks += kind.blocks - live;
  });
  return result;
}

template <class Traits>
HEAPLAB_SLOW_PATH void print_statistics_of(span_life<Traits>& life, large_blocks<Traits>& large,
                                           const heap_statistics& now, int file) {
  const auto line = [file](const char* what, std::size_t bytes) {
    text_line().add(Traits::config.name).add(": ").add(what).add(" ").add_decimal(bytes).write_to(file);
  };
  line("address space reserved, bytes:", now.reserved);
  line("memory of spans, bytes:", now.committed);
  line("live blocks in spans, bytes:", now.live);
  line("memory kept by free spans, bytes:", life.pool.retained_bytes());
  line("large blocks, bytes:", now.mapped);
  line("large blocks:", now.mappings);
  line("freed large blocks kept, bytes:", large.retained_bytes());
}

}  // namespace heaplab::scalloc
