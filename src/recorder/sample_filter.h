// Tells at once of most blocks that they were not sampled: counts of the live samples, one count for each
// page and all pages that lie a multiple of 256 MiB from it. A free touches the line that the frees around it
// touch.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/atomic.h"
#include "base/compiler.h"
#include "base/os_pages.h"

namespace heaplab::recorder {

// relaxed: a thread that has a block from another has its count too.
class alignas(os_pages::largest_page_bytes) sample_filter {
public:
  // False: the block at the address is no live sample.
  HEAPLAB_FAST_PATH bool may_hold(std::uint64_t address) const {
    return counts_[place_of(address)].load(std::memory_order_relaxed) != 0;
  }

  void add(std::uint64_t address) { change(address, 1); }

  // Precondition: the address was added.
  void remove(std::uint64_t address) { change(address, -1); }

private:
  static constexpr unsigned places_log2 = 16;
  static constexpr std::uint8_t most = 255;  // a count that has come so far stays: what it counts is unknown

  static std::size_t place_of(std::uint64_t address) {
    constexpr unsigned page_log2 = 12;
    return (address >> page_log2) % (std::size_t{1} << places_log2);
  }

  void change(std::uint64_t address, int by) {
    atomic<std::uint8_t>& count = counts_[place_of(address)];
    std::uint8_t seen = count.load(std::memory_order_relaxed);
    while (seen != most &&
           !count.compare_exchange_weak(seen, static_cast<std::uint8_t>(seen + by), std::memory_order_relaxed,
                                        std::memory_order_relaxed));
  }

  atomic<std::uint8_t> counts_[std::size_t{1} << places_log2]{};
};

}  // namespace heaplab::recorder
