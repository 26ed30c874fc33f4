#include "workloads/acdc/estimate.h"

#include <algorithm>
#include <cmath>

#include "workloads/acdc/class_plan.h"

namespace heaplab::acdc {

namespace {

struct mean_class {
  double bytes;          // mean of a lifetime-size-class
  double largest;        // of the largest lifetime-size-class
  double liveness;       // mean of the classes, in ticks
  double byte_liveness;  // mean of the bytes, in ticks
};

// The number of objects is the product of a factor for the size and a factor for the liveness, drawn
// independently.
mean_class mean_of(const configuration& settings) {
  const octaves sizes(settings);
  double by_size = 0;
  double largest = 0;
  for (unsigned i = 0; i < sizes.count(); ++i) {
    const auto count = static_cast<double>(object_count(settings, sizes.least(i), settings.max_liveness));
    const auto least = static_cast<double>(std::max(sizes.least(i), tree_links));
    const auto most = static_cast<double>(std::max(sizes.most(i), tree_links));
    by_size += count * (least + most) / 2 / sizes.count();
    largest = std::max(largest, count * most);
  }
  double weights = 0;
  double weighted = 0;
  for (std::uint64_t l = settings.min_liveness; l <= settings.max_liveness; ++l) {
    const double factor = static_cast<double>(settings.max_liveness - l + 1);
    const double weight = settings.objects != 0 ? 1 : factor * factor;
    weights += weight;
    weighted += weight * static_cast<double>(l);
  }
  const auto range = static_cast<double>(settings.max_liveness - settings.min_liveness + 1);
  return {.bytes = by_size * weights / range,
          .largest = largest * (settings.objects != 0 ? 1 : range * range),
          .liveness = static_cast<double>(settings.min_liveness + settings.max_liveness) / 2,
          .byte_liveness = weighted / weights};
}

}  // namespace

unsigned receiving_threads(const configuration& settings) {
  const auto others = static_cast<double>(settings.threads - 1);
  return static_cast<unsigned>(std::llround(others * settings.receiving_threads_ratio / 100));
}

estimate::estimate(const configuration& settings) {
  const mean_class mean = mean_of(settings);
  const auto quantum = static_cast<double>(settings.time_quantum);
  const double bytes_a_tick = quantum + mean.bytes;
  const double classes_a_tick = quantum / mean.bytes + 1;
  // An object outlives its liveness by the tick of its allocation, the delay, and the wait for a receiver's
  // clock.
  const double waiting = 1 + static_cast<double>(settings.deallocation_delay) +
                         static_cast<double>(settings.shared_objects ? settings.max_time_drift : 0);
  const double lasting = settings.permanent_objects_ratio / 100 * static_cast<double>(settings.ticks);
  live_bytes =
      static_cast<double>(settings.threads) * bytes_a_tick * (mean.byte_liveness + waiting + lasting);
  largest_class = mean.largest;
  live_classes = classes_a_tick * (mean.liveness + waiting + lasting);
  live_holdings = live_classes * (1 + (settings.shared_objects ? receiving_threads(settings) : 0));
}

}  // namespace heaplab::acdc
