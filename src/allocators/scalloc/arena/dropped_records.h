#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "allocators/scalloc/spans/span.h"
#include "base/bits.h"
#include "base/narrow.h"
#include "base/os_pages.h"

namespace heaplab::scalloc {

// Runs of fine spans whose records have lost their memory (purged_spans.h). Such a span is as good as one
// that was never carved, except that its epochs must go on: a thread that is late by a tenure must not find
// the word that it has seen before. For the holder of the arena's lock. A child of fork may have lost spans,
// and takes none twice.
template <class Traits>
class dropped_records {
  using span_type = span<Traits>;

public:
  // Only where no record lies in two pages.
  static constexpr bool are_possible =
      is_power_of_two(sizeof(span_type)) && sizeof(span_type) <= os_pages::smallest_page_bytes;

  static std::uint32_t spans_in_page() {
    return narrow<std::uint32_t>(os_pages::page_bytes() / sizeof(span_type));
  }

  bool has_room() const { return count_ < most_runs; }

  // Precondition: has_room(). `epoch` is above the epoch of each of the `count` spans.
  void add(std::uint32_t first, std::uint32_t count, std::uint32_t epoch) {
    epoch_ = std::max(epoch_, epoch);
    runs_[count_] = {first, first + count};
    ++count_;
  }

  // The number of a span, which is dropped no more. Its record is zero.
  std::optional<std::uint32_t> take() {
    for (; count_ > 0; --count_)
      if (run& last = runs_[count_ - 1]; last.begin < last.end) return last.begin++;
    return std::nullopt;
  }

  // Above the epochs of all spans that were ever dropped.
  std::uint32_t epoch() const { return epoch_; }

private:
  // Where spans in use lie between more runs than these, records stay.
  static constexpr std::size_t most_runs = 256;

  struct run {
    std::uint32_t begin, end;
  };
  run runs_[most_runs] = {};
  std::size_t count_ = 0;
  std::uint32_t epoch_ = 0;
};

}  // namespace heaplab::scalloc
