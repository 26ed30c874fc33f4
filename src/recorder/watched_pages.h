// Pages of which all blocks are remembered, so that a recording tells what their blocks leave unused. One
// page in `period` is watched, by a hash of its number: whatever the program does, a page and its neighbours
// have the same chance, and a watched page stands for `period` pages.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/atomic.h"
#include "base/compiler.h"
#include "base/os_pages.h"
#include "recorder/proven_table.h"
#include "trace/raw/raw_file.h"

namespace heaplab::recorder {

// Zero: no page is watched, as in a child of fork, whose pages have blocks that the child does not know.
class alignas(os_pages::largest_page_bytes) watched_pages {
public:
  // A period of 0: no page is watched. Before the first call of a recording.
  void watch(std::uint64_t period, std::uint64_t seed) {
    seed_.store(seed, std::memory_order_relaxed);
    below_.store(period == 0 ? 0 : UINT64_MAX / period, std::memory_order_relaxed);
  }

  HEAPLAB_FAST_PATH bool any() const { return below_.load(std::memory_order_relaxed) != 0; }

  // Which ends of a block lie on watched pages: bits of raw_live_block::site. Pages that a block fills have
  // nothing unused.
  std::uint64_t ends_of(std::uint64_t address, std::uint64_t size) const {
    const std::uint64_t first = address / os_pages::page_bytes();
    const std::uint64_t last = (address + (size == 0 ? 0 : size - 1)) / os_pages::page_bytes();
    return (has(first) ? trace::first_page_watched : 0) |
           (last != first && has(last) ? trace::last_page_watched : 0);
  }

private:
  bool has(std::uint64_t page) const {
    const std::uint64_t hash = mix(mix(seed_.load(std::memory_order_relaxed), page), page);
    return hash < below_.load(std::memory_order_relaxed);
  }

  // relaxed: set before the first call of a recording.
  atomic<std::uint64_t> seed_ = 0;
  atomic<std::uint64_t> below_ = 0;
};

}  // namespace heaplab::recorder
