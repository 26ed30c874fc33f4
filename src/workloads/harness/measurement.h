// What a running workload reports to: its clock, metrics, series and self-checks. Nothing here uses the
// heap under test while the clock runs.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "probes/off_heap_pages.h"
#include "probes/perf_counters.h"
#include "probes/process_memory.h"
#include "probes/resource_usage.h"
#include "probes/thread_team.h"
#include "probes/tick_clock.h"
#include "workloads/harness/aged_heap.h"
#include "workloads/harness/heap_calls.h"
#include "workloads/harness/series.h"

namespace heaplab::harness {

// The options every workload has.
struct service_options {
  std::uint64_t seed = 1;
  bool latency = false;
  bool memory_left = false;
  bool counters = true;
  std::optional<aging> aged;
};

struct metric {
  const char* name;
  const char* unit;
  double value;
};

// What the heap makes the process occupy, in bytes, with the harness's own pages taken off.
struct heap_memory {
  std::uint64_t anonymous;
  std::uint64_t page_tables;
};

// Pages for a workload's bookkeeping, touched. Throws usage_error when the machine has no such amount.
probes::off_heap_pages take_pages(std::size_t bytes);

// Throws usage_error, naming `what` and the amounts, when the process cannot get `bytes` more.
void require_memory(std::uint64_t bytes, const char* what);

// While it lives, what is required is added up, and nothing is refused if that is all that is wanted. One at
// a time, for the harness itself.
class memory_requirements {
public:
  explicit memory_requirements(bool only_add_up);
  ~memory_requirements();
  memory_requirements(const memory_requirements&) = delete;
  memory_requirements& operator=(const memory_requirements&) = delete;

  std::uint64_t bytes() const { return bytes_; }
  // Whether that was enough.
  bool add(std::uint64_t bytes);

private:
  bool only_add_up_;
  std::uint64_t bytes_ = 0;
};

// One run. Names and units are string literals; units are "s", "B", "1/s" and "1".
class measurement {
public:
  // `sizes` are those the workload asks for.
  measurement(const service_options& services, const size_mix& sizes);

  std::uint64_t seed() const { return services_.seed; }
  const probes::tick_clock& clock() const { return clock_; }

  // Begin and end of the interval the common metrics (wall_time, user_time, ...) are about. run_team
  // calls them; only a workload that does not use it does so itself. Each once.
  void start();
  void stop();
  // Seconds since start().
  double elapsed() const;

  // Runs task.run(thread) on `count` threads, the first being the caller, between start() and stop().
  // Throws usage_error when the system refuses a thread.
  void run_team(unsigned count, probes::team_task& task);

  // Prepares the services for this many threads: run_team does so for its own, a workload that makes
  // threads otherwise calls it before start().
  void prepare_threads(unsigned count);

  // Ages the heap of this thread, where that is asked for, before the thread allocates anything: run_team
  // does so, a workload that makes threads otherwise calls it for each.
  void age_heap(unsigned thread) {
    if (aged_) aged_->age(thread);
  }

  // Calls body(heap), where heap is a plain_heap&, or a sampled_heap& when latencies are asked for. Each
  // thread does this once, outside its loops.
  template <class Body>
  void with_heap(unsigned thread, Body&& body) {
    if (samples_.empty()) {
      plain_heap heap;
      body(heap);
    } else {
      sampled_heap heap(samples_[thread], clock_.empty_interval(), services_.seed + thread);
      body(heap);
    }
  }

  // Costs some 10 us. One thread at a time.
  heap_memory read_memory() const;

  // A series of at most `capacity` points; with more, points are thinned out evenly. Before start() only.
  series& add_series(const char* name, const char* unit, std::size_t capacity = 1000);

  void add_metric(const char* name, double value, const char* unit);

  // A self-check: where `held` is false the run counts for nothing and the exit status is 1. `what` says
  // what was expected, as a string literal. One thread at a time.
  void verify(bool held, const char* what);
  // The first such `what` that did not hold, or null.
  const char* failed_check() const { return failed_check_; }

  // For the harness itself, after the run.
  // Checks and frees what aged the heap.
  void release_aged_heap();
  void add_latency_metrics();
  // Waits and reads what memory is left, when asked to.
  void measure_memory_left();
  std::span<const metric> metrics() const { return metrics_.first(metric_count_); }
  std::span<const series> all_series() const { return series_.first(series_count_); }
  bool was_stopped() const { return stopped_; }

private:
  service_options services_;
  size_mix sizes_;
  probes::tick_clock clock_;
  probes::process_memory memory_;
  std::optional<probes::perf_counters> counters_;
  probes::off_heap_pages pages_;
  std::span<metric> metrics_;
  std::span<series> series_;
  std::optional<probes::off_heap_pages> sample_pages_;
  std::span<latency_samples> samples_;
  std::optional<aged_heap> aged_;
  std::size_t metric_count_ = 0;
  std::size_t series_count_ = 0;
  const char* failed_check_ = nullptr;
  bool stopped_ = false;
  std::uint64_t start_ticks_ = 0;
  probes::resource_usage start_usage_;
};

}  // namespace heaplab::harness
