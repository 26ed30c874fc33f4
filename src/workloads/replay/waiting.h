#pragma once

#include <sched.h>

#include <cstdint>

#include "base/compiler.h"
#include "base/cpu.h"

namespace heaplab::replay {

// How often a thread had to wait for another thread.
struct wait_counts {
  std::uint64_t waits = 0;   // the awaited block or event was not there at once
  std::uint64_t stalls = 0;  // nor soon: the thread yielded its processor at least once
};

// Waits until ready() is true: ready() loads with acquire what another thread stores with release. Spins for
// about a microsecond, which suffices if the other thread is running, and then yields.
template <class Ready>
HEAPLAB_FAST_PATH void wait_until_ready(wait_counts& counts, Ready ready) {
  if (ready()) [[likely]]
    return;
  ++counts.waits;
  constexpr unsigned spins = 64;
  for (unsigned i = 0; i < spins; ++i) {
    spin_pause();
    if (ready()) return;
  }
  ++counts.stalls;
  do ::sched_yield();
  while (!ready());
}

}  // namespace heaplab::replay
