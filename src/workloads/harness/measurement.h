// The interface of a running workload: clock, metrics, series and self-checks. Nothing in this file uses the
// heap under test while the clock runs.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <type_traits>

#include "probes/off_heap_pages.h"
#include "probes/perf_counters.h"
#include "probes/process_memory.h"
#include "probes/resource_usage.h"
#include "probes/thread_team.h"
#include "probes/tick_clock.h"
#include "workloads/harness/aged_heap.h"
#include "workloads/harness/heap_calls.h"
#include "workloads/harness/pitfalls.h"
#include "workloads/harness/series.h"

namespace heaplab::harness {

// Options that every workload has.
struct service_options {
  std::uint64_t seed = 1;
  bool latency = false;
  pitfall flaw = pitfall::none;
  bool memory_left = false;
  bool counters = true;
  std::optional<aging> aged;
};

struct metric {
  const char* name;
  const char* unit;
  double value;
};

// Memory of the process in bytes without the harness's own pages: the memory that the heap under test
// occupies.
struct heap_memory {
  std::uint64_t anonymous;
  std::uint64_t page_tables;
};

// Maps and touches pages for a workload's bookkeeping. Throws usage_error if the machine lacks the memory.
probes::off_heap_pages take_pages(std::size_t bytes);

// Throws usage_error with `what` and the amounts if the process cannot get `bytes` more.
void require_memory(std::uint64_t bytes, const char* what);

// Sleeps for the whole time, also where signals interrupt the sleep.
void sleep_for(double seconds);

// While an object of this class exists, it sums up all required memory; with `only_add_up`, require_memory
// then refuses nothing. At most one object exists at a time. For the harness itself.
class memory_requirements {
public:
  explicit memory_requirements(bool only_add_up);
  ~memory_requirements();
  memory_requirements(const memory_requirements&) = delete;
  memory_requirements& operator=(const memory_requirements&) = delete;

  std::uint64_t bytes() const { return bytes_; }
  // Adds `bytes`. True if the caller need not check whether the machine has them.
  bool add(std::uint64_t bytes);

private:
  bool only_add_up_;
  std::uint64_t bytes_ = 0;
};

// Calls `work`. Under callgrind, the instructions counted are those in here: what a thread does while the
// clock runs. python/heaplab/machine/callgrind.py knows the name.
extern "C" void heaplab_clocked(void (*work)(void*), void* argument);

// The same for a callable; not within another one of the same thread.
template <class Work>
void clocked(Work&& work) {
  using callable = std::remove_reference_t<Work>;
  heaplab_clocked([](void* argument) { (*static_cast<callable*>(argument))(); }, &work);
}

// One run. Names and units are string literals; the units are "s", "B", "1/s" and "1".
class measurement {
public:
  // `sizes` are the sizes that the workload allocates.
  measurement(const service_options& services, const size_mix& sizes);

  std::uint64_t seed() const { return services_.seed; }
  const probes::tick_clock& clock() const { return clock_; }

  // Start and end of the interval that the common metrics (wall_time, user_time, ...) cover. Each is called
  // once: by run_team, or by a workload that does not use run_team.
  void start();
  void stop();
  // Seconds since start().
  double elapsed() const;

  // Calls start(), runs task.run(thread) on `count` threads, of which the caller is the first, and calls
  // stop(). Throws usage_error if the system refuses a thread.
  void run_team(unsigned count, probes::team_task& task);

  // Prepares the services for `count` threads. Called by run_team, or before start() by a workload that
  // creates its threads otherwise.
  void prepare_threads(unsigned count);

  // Ages the heap of this thread if --aged was given; called before the thread's first allocation. Called by
  // run_team, or for each thread by a workload that creates its threads otherwise.
  void age_heap(unsigned thread) {
    if (aged_) aged_->age(thread);
  }

  // Calls body(heap), where heap is a plain_heap&, a sampled_heap& if latencies are measured, or a
  // hampered_heap& with --pitfall. Each thread calls this function once, outside its loops.
  template <class Body>
  void with_heap(unsigned thread, Body&& body) {
    if (call_counters_ != nullptr) {
      hampered_heap heap(services_.flaw, *call_counters_, thread);
      body(heap);
    } else if (samples_.empty()) {
      plain_heap heap;
      body(heap);
    } else {
      sampled_heap heap(samples_[thread], services_.seed + thread);
      body(heap);
    }
  }

  // Takes some 10 us. Called by one thread at a time.
  heap_memory read_memory() const;

  // Adds a series of at most `capacity` points; if more are added, points are dropped evenly. Called before
  // start().
  series& add_series(const char* name, const char* unit, std::size_t capacity = 1000);

  void add_metric(const char* name, double value, const char* unit);

  // A self-check: if `held` is false, the run counts for nothing, and the exit status is 1. `what` is a
  // string literal that says what was expected. Called by one thread at a time.
  void verify(bool held, const char* what);
  // `what` of the first check that failed, or null.
  const char* failed_check() const { return failed_check_; }

  // --- for the harness itself, after the run ---
  // Checks and frees the blocks that aged the heap.
  void release_aged_heap();
  void add_latency_metrics();
  // With --pitfall: what its counters have.
  void add_pitfall_metric();
  // With --memory-left: waits, and reads the memory that is left.
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
  std::optional<probes::off_heap_pages> counter_pages_;
  call_counters* call_counters_ = nullptr;  // null without --pitfall
  std::optional<aged_heap> aged_;
  std::size_t metric_count_ = 0;
  std::size_t series_count_ = 0;
  const char* failed_check_ = nullptr;
  bool stopped_ = false;
  std::uint64_t start_ticks_ = 0;
  probes::resource_usage start_usage_;
};

}  // namespace heaplab::harness
