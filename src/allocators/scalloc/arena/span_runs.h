#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>

#include "allocators/scalloc/arena/page_map.h"

namespace heaplab::scalloc {

// Fine spans that were carved and not yet handed out. The entries of a run of spans share a line of the page
// map, which threads on other processors should not read. So each run is for the buffers of one column. Of a
// heap without the map a run is one span. For the holder of the arena's lock.
template <class Traits>
class span_runs {
  static constexpr std::uint32_t length = page_map<Traits>::is_used ? page_map<Traits>::entries_in_line : 1;

public:
  // How many spans, from `first` on, end a run.
  static std::uint32_t length_from(std::uint32_t first) { return length - first % length; }

  // The other spans of the run in which `first` was carved are for `column`.
  void add_behind(std::uint32_t first, unsigned column) { next_of(column) = first + 1; }

  std::optional<std::uint32_t> take(unsigned column) { return take_from(next_of(column)); }

  std::optional<std::uint32_t> take_any() {
    const auto found = std::ranges::find_if(next_, is_run);
    return found == next_.end() ? std::nullopt : take_from(*found);
  }

private:
  static bool is_run(std::uint32_t next) { return next % length != 0; }

  static std::optional<std::uint32_t> take_from(std::uint32_t& next) {
    if (!is_run(next)) return std::nullopt;
    return next++;
  }

  std::uint32_t& next_of(unsigned column) { return next_[column % next_.size()]; }

  // The number of the next span for each column; a multiple of `length`: none.
  std::array<std::uint32_t, Traits::config.pool_column_limit> next_{};
};

}  // namespace heaplab::scalloc
