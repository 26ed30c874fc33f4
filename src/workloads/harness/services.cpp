// The common services that report after the run: aged heap, latencies, and memory left.

#include <time.h>

#include <array>
#include <cstdint>

#include "workloads/harness/measurement.h"

namespace heaplab::harness {

namespace {

struct quantile_name {
  double fraction;
  const char* of_allocation;
  const char* of_release;
};

constexpr std::array quantiles{
    quantile_name{0.5, "allocation_latency_p50", "free_latency_p50"},
    quantile_name{0.9, "allocation_latency_p90", "free_latency_p90"},
    quantile_name{0.99, "allocation_latency_p99", "free_latency_p99"},
    quantile_name{0.999, "allocation_latency_p999", "free_latency_p999"},
};

void sleep_until(std::uint64_t monotonic_ns) {
  constexpr std::uint64_t second = 1'000'000'000;
  const timespec time{.tv_sec = static_cast<time_t>(monotonic_ns / second),
                      .tv_nsec = static_cast<long>(monotonic_ns % second)};
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, nullptr) != 0) {
  }
}

}  // namespace

void sleep_for(double seconds) {
  sleep_until(probes::monotonic_nanoseconds() + static_cast<std::uint64_t>(seconds * 1e9));
}

void measurement::release_aged_heap() {
  if (!services_.aged) return;
  verify(aged_.has_value() && (services_.aged->occupancy == 0 || aged_->live_bytes() > 0),
         "the heap was aged");
  if (!aged_) return;
  add_metric("aged_memory", static_cast<double>(aged_->live_bytes()), "B");
  aged_->release();
}

void measurement::add_latency_metrics() {
  if (samples_.empty()) return;
  latency_samples& all = samples_.front();
  for (const latency_samples& of_thread : samples_.subspan(1)) {
    all.allocation.merge(of_thread.allocation);
    all.release.merge(of_thread.release);
  }
  const auto add = [&](const probes::latency_histogram& from, const char* name, double ticks) {
    if (from.count() != 0) add_metric(name, clock_.seconds_without_stamps(ticks), "s");
  };
  for (const quantile_name& quantile : quantiles) {
    add(all.allocation, quantile.of_allocation, all.allocation.quantile(quantile.fraction, clock_.step()));
    add(all.release, quantile.of_release, all.release.quantile(quantile.fraction, clock_.step()));
  }
  add(all.allocation, "allocation_latency_max", static_cast<double>(all.allocation.largest()));
  add(all.release, "free_latency_max", static_cast<double>(all.release.largest()));
  add_metric("allocation_latency_samples", static_cast<double>(all.allocation.count()), "1");
  add_metric("free_latency_samples", static_cast<double>(all.release.count()), "1");
  add_metric("latency_step", clock_.seconds(clock_.step()), "s");
}

void measurement::add_pitfall_metric() {
  if (call_counters_ == nullptr) return;
  const std::uint64_t counted = call_counters_->counted();
  if (services_.flaw == pitfall::timed_calls)
    add_metric("time_in_calls", clock_.seconds(counted), "s");
  else
    add_metric("calls_counted", static_cast<double>(counted), "1");
}

void measurement::measure_memory_left() {
  if (!services_.memory_left) return;
  const std::uint64_t freed = probes::monotonic_nanoseconds();
  sleep_until(freed + 100'000'000);
  add_metric("memory_left_100ms", static_cast<double>(read_memory().anonymous), "B");
  sleep_until(freed + 1'000'000'000);
  add_metric("memory_left_1s", static_cast<double>(read_memory().anonymous), "B");
}

}  // namespace heaplab::harness
