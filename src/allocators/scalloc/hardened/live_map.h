#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "allocators/scalloc/policy/size_classes.h"
#include "base/cache_line.h"
#include "base/compiler.h"
#include "concurrent/relaxed_compare.h"

namespace heaplab::scalloc {

// In which parts (granules) of a span a live block begins. A granule of a fine span has 16 bytes, so that an
// address inside a block is in a granule where none begins.
//
// A byte each, not a bit: the owner of the span and other threads free neighbouring blocks at once, and bits
// of one word would need a locked instruction in each malloc and free (docs/decisions/0022).
template <class Traits>
class live_map {
public:
  static constexpr std::size_t granules = Traits::config.fine_span_bytes / class_step;

  // The granule of a block of a fine span.
  HEAPLAB_FAST_PATH static std::size_t fine_granule_of(const void* block) {
    return reinterpret_cast<std::uintptr_t>(block) / class_step;
  }

  bool holds(std::size_t granule) const { return at(granule).load(std::memory_order_relaxed) != 0; }

  // Called by the owner of the span. False: a live block begins there already.
  HEAPLAB_FAST_PATH bool begin(std::size_t granule) {
    if (concurrent::differs(at(granule), 0)) [[unlikely]]
      return false;
    at(granule).store(live, std::memory_order_relaxed);
    return true;
  }

  // Called by any thread, for a span without an owner. False: a live block begins there already.
  bool try_begin(std::size_t granule) { return at(granule).exchange(live, std::memory_order_relaxed) == 0; }

  // Called by the owner with a live block that the program does not have yet, and whose memory was never
  // handed out since the system gave it.
  void mark_untouched(std::size_t granule) { at(granule).store(untouched, std::memory_order_relaxed); }
  bool was_untouched(std::size_t granule) const {
    return at(granule).load(std::memory_order_relaxed) == untouched;
  }

  // Called by the owner. False: no live block begins there. If another thread frees the same block at the
  // same instant, both may be told that the block was live. The block is then in two lists, and begin()
  // notices when the block is handed out from the second list while it is live.
  HEAPLAB_FAST_PATH bool end_own(std::size_t granule) {
    if (!concurrent::differs(at(granule), 0)) [[unlikely]]
      return false;
    at(granule).store(0, std::memory_order_relaxed);
    return true;
  }

  // Called by any thread. Of several threads that free a block at once, one is told that it was live.
  // relaxed: the compare-and-swap that pushes the block publishes this (frontend::push_remote).
  bool end(std::size_t granule) { return at(granule).exchange(0, std::memory_order_relaxed) != 0; }

private:
  // Values of a byte; 0: no live block begins there.
  static constexpr std::uint8_t live = 1, untouched = 2;

  using byte = typename Traits::template atomic<std::uint8_t>;

  HEAPLAB_FAST_PATH byte& at(std::size_t granule) { return live_[granule % granules]; }
  HEAPLAB_FAST_PATH const byte& at(std::size_t granule) const { return live_[granule % granules]; }

  alignas(cache_line_bytes) byte live_[granules]{};
};

}  // namespace heaplab::scalloc
