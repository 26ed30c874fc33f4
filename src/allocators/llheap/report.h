// What the heap knows about itself, as numbers and as text. Nothing here allocates.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>

#include "allocators/llheap/counters.h"
#include "allocators/llheap/size_classes.h"
#include "allocators/llheap/thread_heap.h"
#include "base/heap_concept.h"
#include "base/text_line.h"

namespace heaplab::llheap {

using all_totals = std::array<routine_totals, routine_count>;

// The state of the heap at one moment. Free blocks are those of the calling thread and of ended threads: no
// other thread may read the lists of a running thread, so that its free blocks count as live unless
// statistics are on.
struct account {
  storage_counts storage;
  std::size_t mapped_bytes = 0;
  std::uint64_t maps = 0, unmaps = 0;
  std::uint64_t free_bytes = 0;
  std::uint64_t uncarved_bytes = 0;  // in the buffers of those heaps
  std::array<std::uint64_t, bucket_count> free_blocks{};
  all_totals totals{};

  // Bytes in live blocks, counted call by call.
  std::uint64_t counted_live_bytes() const {
    std::uint64_t live = 0;
    for (const routine_totals& row : totals) live += row.usable_bytes - row.released_bytes;
    return live;
  }
};

template <class Core>
account take_account() {
  account now;
  const thread_heap* const mine = Core::my_heap();
  Core::storage().for_each_heap([&](thread_heap& heap) {
    heap.counters.add_to(now.totals);
    if (!heap.dead && &heap != mine) return;
    now.uncarved_bytes += heap.uncarved_bytes();
    for (std::size_t bucket = 0; bucket < bucket_count; ++bucket) {
      const std::size_t blocks = heap.count_free(bucket);
      now.free_blocks[bucket] += blocks;
      now.free_bytes += blocks * (sizeof(header) + bucket_bytes(bucket));
    }
  });
  now.storage = Core::storage().counts();
  now.mapped_bytes = Core::mapped_blocks().bytes();
  now.maps = Core::mapped_blocks().maps();
  now.unmaps = Core::mapped_blocks().unmaps();
  return now;
}

template <class Core>
heap_statistics statistics_of(const account& now) {
  heap_statistics result;
  result.mappings = now.maps - now.unmaps;
  result.reserved = now.storage.area_bytes + now.mapped_bytes;
  result.committed = now.storage.carved_bytes - now.uncarved_bytes;
  // A mapped block's usable bytes are all but its header.
  result.live = Core::settings.statistics
                    ? now.counted_live_bytes() - (now.mapped_bytes - result.mappings * sizeof(header))
                    : now.storage.carved_bytes - now.uncarved_bytes - now.free_bytes;
  result.mapped = now.mapped_bytes;
  result.free_blocks = std::accumulate(now.free_blocks.begin(), now.free_blocks.end(), std::size_t{0});
  return result;
}

// One "name value" pair after the other.
class number_line {
public:
  explicit number_line(const char* title) { line_.add("llheap: ").add(title); }
  number_line& add(const char* what, std::uint64_t value) {
    line_.add(" ").add(what).add(" ").add_decimal(value);
    return *this;
  }
  void write_to(int file) { line_.write_to(file); }

private:
  text_line line_;
};

inline void print_totals(const all_totals& totals, const all_totals& since, int file) {
  for (std::size_t i = 0; i < routine_count; ++i) {
    const routine_totals& now = totals[i];
    const routine_totals& then = since[i];
    number_line(routine_names[i])
        .add("calls", now.calls - then.calls)
        .add("zero-byte", now.zero_byte_calls - then.zero_byte_calls)
        .add("requested", now.requested_bytes - then.requested_bytes)
        .add("usable", now.usable_bytes - then.usable_bytes)
        .add("released", now.released_bytes - then.released_bytes)
        .write_to(file);
  }
}

inline void print_buckets(const account& now, int file) {
  for (std::size_t bucket = 0; bucket < bucket_count; ++bucket)
    if (now.free_blocks[bucket] != 0)
      number_line("bucket")
          .add("bytes", bucket_bytes(bucket))
          .add("free", now.free_blocks[bucket])
          .write_to(file);
}

inline void print_storage(const account& now, int file) {
  number_line("areas")
      .add("count", now.storage.areas)
      .add("bytes", now.storage.area_bytes)
      .add("carved", now.storage.carved_bytes)
      .write_to(file);
  number_line("buffers")
      .add("contiguous", now.storage.buffers_contiguous)
      .add("apart", now.storage.buffers_apart)
      .write_to(file);
  number_line("mapped")
      .add("maps", now.maps)
      .add("unmaps", now.unmaps)
      .add("bytes", now.mapped_bytes)
      .write_to(file);
  number_line("heaps")
      .add("new", now.storage.heaps_new)
      .add("reused", now.storage.heaps_reused)
      .write_to(file);
  number_line("free").add("bytes", now.free_bytes).write_to(file);
}

}  // namespace heaplab::llheap
