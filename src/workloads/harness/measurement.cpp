#include "workloads/harness/measurement.h"

#include <cmath>
#include <string>
#include <system_error>

#include "base/assertion.h"
#include "probes/machine_memory.h"
#include "workloads/harness/usage_error.h"
#include "workloads/harness/value_text.h"

namespace heaplab::harness {

namespace {

constexpr std::size_t most_metrics = 128;
constexpr std::size_t most_series = 16;
constexpr std::size_t most_points = 16 * std::size_t{1024};  // of all series together

std::size_t bookkeeping_bytes() {
  using probes::off_heap_pages;
  return off_heap_pages::needed<metric>(most_metrics) + off_heap_pages::needed<series>(most_series) +
         off_heap_pages::needed<point>(most_points) + most_series * off_heap_pages::needed<point>(1);
}

constinit memory_requirements* requirements = nullptr;

// Starts and stops the clock around a workload's task.
class clocked_task final : public probes::team_task {
public:
  clocked_task(measurement& measured, probes::team_task& task) : measured_(measured), task_(task) {}

  void prepare(unsigned thread) override {
    measured_.age_heap(thread);
    task_.prepare(thread);
  }
  void started() override {
    task_.started();
    measured_.start();
  }
  void run(unsigned thread) override {
    clocked([&] { task_.run(thread); });
  }
  void finished() override {
    measured_.stop();
    task_.finished();
  }

private:
  measurement& measured_;
  probes::team_task& task_;
};

}  // namespace

[[gnu::noinline, gnu::visibility("default")]] void heaplab_clocked(void (*work)(void*), void* argument) {
  work(argument);
}

memory_requirements::memory_requirements(bool only_add_up) : only_add_up_(only_add_up) {
  requirements = this;
}

memory_requirements::~memory_requirements() {
  requirements = nullptr;
}

bool memory_requirements::add(std::uint64_t bytes) {
  bytes_ += bytes;
  return only_add_up_;
}

void require_memory(std::uint64_t bytes, const char* what) {
  if (requirements != nullptr && requirements->add(bytes)) return;
  const std::uint64_t available = probes::available_memory();
  if (bytes <= available) return;
  throw usage_error(std::string(what) + " need about " + show_rounded(static_cast<double>(bytes), "B") +
                    " of memory, and " + show_rounded(static_cast<double>(available), "B") +
                    " are available");
}

probes::off_heap_pages take_pages(std::size_t bytes) {
  require_memory(bytes, "the workload's records");
  return probes::off_heap_pages(bytes);
}

void measurement::prepare_threads(unsigned count) {
  if (services_.aged) aged_.emplace(*services_.aged, sizes_, count);
  if (services_.flaw != pitfall::none) {
    counter_pages_.emplace(probes::off_heap_pages::needed<call_counters>(1));
    call_counters_ = &counter_pages_->array<call_counters>(1).front();
  }
  if (!services_.latency) return;
  sample_pages_.emplace(probes::off_heap_pages::needed<latency_samples>(count));
  samples_ = sample_pages_->array<latency_samples>(count);
}

void measurement::run_team(unsigned count, probes::team_task& task) {
  prepare_threads(count);
  clocked_task clocked(*this, task);
  try {
    probes::run_team(count, clocked);
  } catch (const std::system_error& error) {
    throw usage_error(std::to_string(count) + " threads: " + error.what());
  }
}

measurement::measurement(const service_options& services, const size_mix& sizes)
    : services_(services),
      sizes_(sizes),
      clock_(probes::tick_clock::calibrate()),
      pages_(bookkeeping_bytes()) {
  metrics_ = pages_.array<metric>(most_metrics);
  series_ = pages_.array<series>(most_series);
  if (services_.counters) counters_.emplace();
}

void measurement::start() {
  HEAPLAB_ASSERT(start_ticks_ == 0 && !stopped_);
  if (counters_) counters_->start();
  start_usage_ = probes::resource_usage::now();
  start_ticks_ = probes::read_ticks();
}

void measurement::stop() {
  HEAPLAB_ASSERT(start_ticks_ != 0 && !stopped_);
  const double wall = elapsed();
  const probes::resource_usage used = probes::resource_usage::now() - start_usage_;
  if (counters_) counters_->stop();
  const probes::memory_reading memory = memory_.read();
  const double own = static_cast<double>(probes::off_heap_pages_total());
  stopped_ = true;
  add_metric("wall_time", wall, "s");
  add_metric("user_time", used.user_s, "s");
  add_metric("system_time", used.system_s, "s");
  add_metric("cpu_time", used.cpu_s, "s");
  add_metric("minor_faults", static_cast<double>(used.minor_faults), "1");
  add_metric("major_faults", static_cast<double>(used.major_faults), "1");
  add_metric("voluntary_switches", static_cast<double>(used.voluntary_switches), "1");
  add_metric("involuntary_switches", static_cast<double>(used.involuntary_switches), "1");
  add_metric("peak_memory", static_cast<double>(memory.peak_anonymous()) - own, "B");
  add_metric("end_memory", static_cast<double>(memory.anonymous) - own, "B");
  add_metric("page_tables", static_cast<double>(memory.page_tables), "B");
  add_metric("virtual_memory", static_cast<double>(memory.virtual_size) - own, "B");
  if (const auto pss = probes::proportional_set_size())
    add_metric("proportional_memory", static_cast<double>(*pss) - own, "B");
  for (std::size_t i = 0; counters_ && i < probes::perf_counters::names.size(); ++i)
    if (const auto count = counters_->count(i)) add_metric(probes::perf_counters::names[i], *count, "1");
}

double measurement::elapsed() const {
  return clock_.seconds(probes::read_ticks() - start_ticks_);
}

heap_memory measurement::read_memory() const {
  const probes::memory_reading memory = memory_.read();
  return {.anonymous = memory.anonymous - probes::off_heap_pages_total(), .page_tables = memory.page_tables};
}

series& measurement::add_series(const char* name, const char* unit, std::size_t capacity) {
  HEAPLAB_ASSERT(series_count_ < series_.size() && start_ticks_ == 0);
  series& added = series_[series_count_++];
  added = series(name, unit, pages_.array<point>(capacity));
  return added;
}

void measurement::add_metric(const char* name, double value, const char* unit) {
  if (metric_count_ == metrics_.size()) throw run_error("too many metrics");
  HEAPLAB_ASSERT(std::isfinite(value));
  metrics_[metric_count_++] = {name, unit, value};
}

void measurement::verify(bool held, const char* what) {
  if (!held && failed_check_ == nullptr) failed_check_ = what;
}

}  // namespace heaplab::harness
