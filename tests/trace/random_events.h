#pragma once

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include "trace/raw/event.h"

namespace heaplab::trace {

// Events of a few threads that obey event_rules.h, at call sites 0 to `sites`; each number with seed 1, 2 ...
// another sequence.
inline std::vector<event> random_events(std::size_t count, unsigned seed, std::uint32_t sites = 0) {
  std::mt19937_64 random(seed);
  constexpr kind kinds[] = {kind::malloc, kind::calloc,     kind::posix_memalign,      kind::new_object,
                            kind::free,   kind::free_sized, kind::delete_object_sized, kind::thread_end};
  constexpr std::uint32_t most_threads = 4;
  std::vector<event> events(count);
  std::uint64_t stamp = 1 + random() % 1000;
  std::uint32_t threads = 0;
  for (event& e : events) {
    e.stamp = stamp += random() % 3 == 0 ? 0 : random() % 5000;
    e.thread = 1 + static_cast<std::uint32_t>(random() % std::min(threads + 1, most_threads));
    const bool begins = e.thread > threads;
    threads = std::max(threads, e.thread);
    e.kind = begins ? kind::thread_begin : kinds[random() % std::size(kinds)];
    const bool sized = is_acquisition(e.kind) || e.kind == kind::free_sized ||
                       e.kind == kind::delete_object_sized || e.kind == kind::thread_begin;
    if (sized) e.size = random() >> (8 + random() % 56);
    if (!is_acquisition(e.kind) && !is_release(e.kind)) continue;
    e.address = 1 + (random() >> (16 + random() % 40));
    e.site = static_cast<std::uint32_t>(random() % (sites + 1));
    if (e.kind == kind::posix_memalign) e.alignment_log2 = static_cast<std::uint8_t>(3 + random() % 10);
  }
  return events;
}

}  // namespace heaplab::trace
