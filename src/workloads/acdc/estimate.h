#pragma once

#include "workloads/acdc/configuration.h"

namespace heaplab::acdc {

// The expected state of a run at any time, computed from the means of the random draws.
struct estimate {
  double live_bytes = 0;     // requested bytes of all threads
  double largest_class = 0;  // bytes of one lifetime-size-class
  double live_classes = 0;   // number of lifetime-size-classes of one thread
  double live_holdings = 0;  // number of holdings of one thread

  explicit estimate(const configuration& settings);
};

// Number of receivers of a shared class besides the thread that allocates it.
unsigned receiving_threads(const configuration& settings);

}  // namespace heaplab::acdc
