#pragma once

#include <cstddef>
#include <numeric>

#include "allocators/scalloc/arena/page_map.h"
#include "allocators/scalloc/spans/span.h"
#include "base/bits.h"
#include "base/os_pages.h"

namespace heaplab::scalloc {

// What lies where in the reservation of an arena, in bytes from its beginning:
//
//   | owners | records of fine spans | records of coarse spans | fine spans ->  ...  <- coarse spans |
//   0        fine_records            coarse_records            spans                            total
struct arena_layout {
  std::size_t fine_records, coarse_records, spans, total;

  // For `bytes` of spans, a multiple of the size of a coarse span.
  template <class Traits>
  static arena_layout of(std::size_t bytes) {
    constexpr const auto& config = Traits::config;
    // Each zone's records begin at a page, and those of the coarse zone a whole number of records behind the
    // others: all spans have one numbering.
    constexpr std::size_t unit = std::lcm(sizeof(span<Traits>), os_pages::largest_page_bytes);
    const auto records_for = [bytes](std::size_t span_bytes) {
      return (bytes / span_bytes * sizeof(span<Traits>) + unit - 1) / unit * unit;
    };
    const std::size_t fine = page_map<Traits>::bytes_for(bytes);
    const std::size_t coarse = fine + records_for(config.fine_span_bytes);
    const std::size_t least = coarse + (config.has_coarse_zone() ? records_for(config.coarse_span_bytes) : 0);
    const std::size_t spans = align_up(least, config.arena_alignment());
    return {fine, config.has_coarse_zone() ? coarse : spans, spans, spans + bytes};
  }
};

}  // namespace heaplab::scalloc
