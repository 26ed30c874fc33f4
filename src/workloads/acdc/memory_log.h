#pragma once

#include <cstdint>

#include "workloads/harness/harness.h"

namespace heaplab::acdc {

// Memory of the process without the harness's bookkeeping, and requested bytes, at each tick of thread 0; and
// the means of both from the end of the warm-up on.
class memory_log {
public:
  memory_log(harness::measurement& measured, std::uint64_t warm_up)
      : measured_(measured),
        memory_(measured.add_series("memory", "B")),
        live_(measured.add_series("live_bytes", "B")),
        warm_up_(warm_up) {}

  void sample(std::uint64_t tick, std::uint64_t live_bytes) {
    const auto memory = static_cast<double>(measured_.read_memory().anonymous);
    const auto live = static_cast<double>(live_bytes);
    const double now = measured_.elapsed();
    memory_.add(now, memory);
    live_.add(now, live);
    if (tick < warm_up_) return;
    memory_sum_ += memory;
    live_sum_ += live;
    ++samples_;
  }

  void report(std::uint64_t threads) const {
    const double memory = memory_sum_ / static_cast<double>(samples_);
    measured_.add_metric("average_memory", memory, "B");
    measured_.add_metric("average_memory_per_thread", memory / static_cast<double>(threads), "B");
    measured_.add_metric("average_live_bytes", live_sum_ / static_cast<double>(samples_), "B");
  }

private:
  harness::measurement& measured_;
  harness::series& memory_;
  harness::series& live_;
  std::uint64_t warm_up_;
  double memory_sum_ = 0;
  double live_sum_ = 0;
  std::uint64_t samples_ = 0;
};

}  // namespace heaplab::acdc
