#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "trace/event.h"

namespace heaplab::trace {

// Well-formed events of a few threads, each number with seed 1, 2 ... another sequence.
inline std::vector<event> random_events(std::size_t count, unsigned seed) {
  std::mt19937_64 random(seed);
  constexpr kind kinds[] = {kind::malloc,    kind::calloc,     kind::posix_memalign,      kind::new_object,
                            kind::free,      kind::free_sized, kind::delete_object_sized, kind::thread_begin,
                            kind::thread_end};
  std::vector<event> events(count);
  std::uint64_t stamp = 1 + random() % 1000;
  for (event& e : events) {
    e.kind = kinds[random() % std::size(kinds)];
    e.stamp = stamp += random() % 3 == 0 ? 0 : random() % 5000;
    e.thread = 1 + static_cast<std::uint32_t>(random() % 4);
    e.address = random() >> (16 + random() % 40);
    e.site = static_cast<std::uint32_t>(random() % 100);
    if (e.kind == kind::posix_memalign) e.alignment_log2 = static_cast<std::uint8_t>(3 + random() % 10);
    const bool sized = is_acquisition(e.kind) || e.kind == kind::free_sized ||
                       e.kind == kind::delete_object_sized || e.kind == kind::thread_begin;
    if (sized) e.size = random() >> (random() % 64);
  }
  return events;
}

}  // namespace heaplab::trace
