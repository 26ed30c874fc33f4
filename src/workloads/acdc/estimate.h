#pragma once

#include <cstddef>

#include "workloads/acdc/configuration.h"

namespace heaplab::acdc {

// What a run is expected to hold at a time, from the means of the random draws.
struct estimate {
  double live_bytes = 0;     // requested, all threads
  double largest_class = 0;  // bytes of one lifetime-size-class
  double live_classes = 0;   // lifetime-size-classes of one thread
  double live_holdings = 0;  // of one thread

  explicit estimate(const configuration& settings);
};

// Threads besides the allocating one that receive what it shares.
unsigned receiving_threads(const configuration& settings);

}  // namespace heaplab::acdc
