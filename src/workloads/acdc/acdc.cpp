// ACDC: a mutator that allocates, shares, accesses and deallocates in configurable patterns (Aigner and
// Kirsch, ISMM 2013). The card catalog/workloads/acdc.toml lists the differences from the paper's program.

#include "workloads/acdc/configuration.h"
#include "workloads/acdc/false_sharing.h"
#include "workloads/acdc/mutator.h"
#include "workloads/acdc/null_heap.h"
#include "workloads/harness/harness.h"

namespace {

using namespace heaplab;

class acdc_workload final : public harness::team_workload {
public:
  harness::description describe() const override {
    return {"acdc", "objects by size, lifetime and sharing: ACDC of Aigner and Kirsch",
            "acdc --threads 2 --max-size 2KiB --max-liveness 5 --shared-objects"};
  }

  void declare(harness::option_table& options) override { settings_.declare(options); }
  void check(const harness::option_table& options) override {
    settings_.check(options);
    require_memory(acdc::estimate(settings_));
  }
  harness::size_mix sizes() const override { return {settings_.min_size, settings_.max_size}; }

  void run(harness::measurement& measured) override {
    const acdc::estimate expected(settings_);
    if (settings_.historic && (measured.seed() == 0 || measured.seed() > last_historic_seed))
      throw harness::usage_error("--seed: --historic allows 1 to 2147482000");
    const auto threads = static_cast<unsigned>(settings_.threads);
    acdc::placed_array<acdc::thread_state> states(settings_.threads);
    probes::off_heap_pages pages =
        harness::take_pages(acdc::distribution_pool::bytes_needed(threads, settings_.max_liveness));
    acdc::distribution_pool pool(pages, threads, settings_.max_liveness);
    probes::barrier drift_barrier(threads);
    acdc::memory_log memory(measured, settings_.warm_up());
    acdc::accounts books(settings_.accounts, settings_.ticks);
    acdc::shared_round shared(settings_);
    acdc::common_ground common{settings_, states, pool, drift_barrier, memory, books};
    expected_ = &expected;
    common_ = &common;
    round_ = &shared;
    threads_ = threads;
    run_team(measured);
    memory.report(settings_.threads);
    verify();
    if (measured.failed_check() == nullptr) books.write(states);
  }

private:
  static constexpr std::uint64_t last_historic_seed = 2'147'482'000;

  void require_memory(const acdc::estimate& expected) const {
    if (settings_.mode == acdc::mode::false_sharing) return;
    const double objects = settings_.pseudo_allocator == acdc::pseudo_allocator::null
                               ? 0
                               : expected.live_bytes + expected.largest_class;
    const double threads = static_cast<double>(settings_.threads);
    const double records = threads * (static_cast<double>(acdc::thread_state::bytes_needed(settings_)) +
                                      cache_line_bytes * (expected.live_classes + expected.live_holdings));
    constexpr double most = 1e18;
    harness::require_memory(static_cast<std::uint64_t>(std::min(most, objects + records)), "the objects");
  }

  void prepare(unsigned thread) override try {
    common_->threads.make(thread, settings_, *expected_, measured_->seed(), thread);
  } catch (const std::bad_alloc&) {
    acdc::give_up("no memory for the records");
  }

  void run(unsigned thread) override {
    const auto work = [&](auto& heap) {
      if (settings_.mode == acdc::mode::false_sharing) {
        acdc::false_sharer(*common_, *round_, thread, measured_->seed(), heap).run();
      } else {
        acdc::mutator(*common_, thread, heap).run();
      }
    };
    if (settings_.pseudo_allocator == acdc::pseudo_allocator::null) {
      acdc::null_heap heap;
      work(heap);
    } else {
      measured_->with_heap(thread, work);
    }
  }

  // The metrics cover the time until the clock stopped; the remaining objects are freed after that.
  void finished() override {
    report();
    if (settings_.pseudo_allocator == acdc::pseudo_allocator::null) {
      acdc::null_heap heap;
      free_rest(heap);
    } else {
      harness::plain_heap heap;
      free_rest(heap);
    }
  }

  template <class Heap>
  void free_rest(Heap& heap) {
    for (unsigned thread = 0; thread < settings_.threads; ++thread)
      acdc::mutator(*common_, thread, heap).free_rest();
  }

  struct sums {
    acdc::stretches allocation;
    acdc::stretches deallocation;
    acdc::stretches access;
    std::uint64_t allocated_bytes = 0;
    std::uint64_t freed_bytes = 0;
    std::uint64_t allocated_objects = 0;
    std::uint64_t freed_objects = 0;
    std::uint64_t remotely_freed_objects = 0;
    std::uint64_t accessed = 0;
    std::uint64_t written = 0;
  };

  sums sum_up() {
    sums all;
    for (std::size_t i = 0; i < common_->threads.size(); ++i) {
      const acdc::thread_state& thread = common_->threads[i];
      all.allocation.add(thread.allocation);
      all.deallocation.add(thread.deallocation);
      all.access.add(thread.access);
      // relaxed: the threads have been joined.
      all.allocated_bytes += thread.total.allocated_bytes.load(std::memory_order_relaxed);
      all.freed_bytes += thread.total.freed_bytes.load(std::memory_order_relaxed);
      all.allocated_objects += thread.total.allocated_objects;
      all.freed_objects += thread.total.freed_objects;
      all.remotely_freed_objects += thread.total.remotely_freed_objects;
      all.accessed += thread.pacer.accessed();
      all.written += thread.pacer.written();
    }
    return all;
  }

  // Section 2.2: the sum over all threads, divided by the number of threads. The time that the stamps take is
  // subtracted.
  void add_time(const char* name, const acdc::stretches& spent) {
    const double seconds =
        measured_->clock().seconds_without_stamps(static_cast<double>(spent.ticks), spent.count);
    measured_->add_metric(name, seconds / static_cast<double>(settings_.threads), "s");
  }

  void report() {
    const sums all = sum_up();
    add_time("allocation_time", all.allocation);
    add_time("deallocation_time", all.deallocation);
    add_time("allocator_time", {.ticks = all.allocation.ticks + all.deallocation.ticks,
                                .count = all.allocation.count + all.deallocation.count});
    add_time("access_time", all.access);
    const auto add_count = [&](const char* name, std::uint64_t count, const char* unit = "1") {
      measured_->add_metric(name, static_cast<double>(count), unit);
    };
    add_count("allocated_objects", all.allocated_objects);
    add_count("freed_objects", all.freed_objects);
    add_count("remotely_freed_objects", all.remotely_freed_objects);
    add_count("allocated_bytes", all.allocated_bytes, "B");
    add_count("freed_bytes", all.freed_bytes, "B");
    add_count("accessed_objects", all.accessed);
    add_count("written_objects", all.written);
    add_count("bookkeeping_memory", probes::off_heap_pages_total(), "B");
  }

  void verify() {
    const sums all = sum_up();
    measured_->verify(all.allocated_objects == all.freed_objects, "as many objects freed as allocated");
    measured_->verify(all.allocated_bytes == all.freed_bytes, "as many bytes freed as allocated");
  }

  acdc::configuration settings_;
  const acdc::estimate* expected_ = nullptr;
  acdc::common_ground* common_ = nullptr;
  acdc::shared_round* round_ = nullptr;
};

}  // namespace

int main(int argc, char** argv) {
  return harness::run_program<acdc_workload>(argc, argv);
}
