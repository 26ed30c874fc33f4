#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "allocators/scalloc/arena/arena.h"
#include "allocators/scalloc/hardened/live_map.h"
#include "allocators/scalloc/policy/size_classes.h"
#include "base/narrow.h"

namespace heaplab::scalloc {

// Blocks of no bytes: addresses in fine spans that are guards (arena.h), so that a program which
// reads or writes there is stopped. The live map of the guard knows which addresses are handed out. Any
// thread may call; there is no lock, and a child of fork finds each address handed out or not.
template <class Traits>
class empty_blocks {
  static constexpr const scalloc::config& config = Traits::config;

public:
  // Null: no address was found, because there is no guard or many are handed out.
  void* allocate(arena<Traits>& spans) {
    const std::size_t guards = spans.guard_places();
    for (std::size_t tries = guards == 0 ? 0 : most_tries; tries > 0; --tries) {
      // relaxed: a number publishes nothing. What was freed last is handed out again last.
      const std::size_t number = next_.fetch_add(1, std::memory_order_relaxed);
      const std::size_t place = number / granules % guards * guarded_span_period;
      span<Traits>& guard = spans.span_number(narrow<std::uint32_t>(place));
      const std::size_t granule = number % granules;
      if (guard.secrets.is_of_guard() && guard.live.try_begin(granule))
        return guard.base + granule * class_step;
    }
    return nullptr;
  }

private:
  static constexpr std::size_t granules = live_map<Traits>::granules, most_tries = 64;

  typename Traits::template atomic<std::size_t> next_{0};
};

// The program gives a block of no bytes back.
template <class Traits>
void withdraw_empty(span<Traits>& guard, void* block) {
  if (!guard.live.end(guard.secrets.granule_of(block))) refuse_address(guard, block);
}

}  // namespace heaplab::scalloc
