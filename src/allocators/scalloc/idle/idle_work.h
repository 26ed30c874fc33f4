#pragma once

#include <cstdint>

#include "allocators/scalloc/frontend/span_life.h"
#include "allocators/scalloc/frontend/span_reclaim.h"
#include "allocators/scalloc/idle/hole_sweep.h"
#include "allocators/scalloc/large/large.h"

namespace heaplab::scalloc {

// What the background purge thread does again and again (idle_purge.h): lets retained memory decay,
// and gives holes back. Caller: calling_core.h or calling_thread.h.
template <class Traits, span_life<Traits>& Life, large_blocks<Traits>& Large, hole_sweep<Traits>& Holes,
          class Caller>
struct idle_work {
  // ms until something may have decayed. The clock lags by up to a step.
  static std::int64_t wait() {
    constexpr std::int64_t clock_step = 10;
    return Life.pool.until_decay(Traits::platform::milliseconds()) + clock_step;
  }

  // True if much is left.
  static bool purge() {
    Life.pool.finish_purge_for_growth(Life.arena);
    const std::int64_t now = Traits::platform::milliseconds();
    Caller::flush_idle(now);
    Large.decay(now);
    bool much = purge_unneeded(Life, now) || Large.retained_bytes() >= Traits::config.idle_purge_bytes;
    if constexpr (Traits::config.purges_holes) much |= Holes.sweep_quiet(now);
    return much;
  }
};

}  // namespace heaplab::scalloc
