#pragma once

#include <pthread.h>

#include <algorithm>
#include <cstdint>

#include "base/atomic.h"
#include "probes/memory_maps.h"
#include "workloads/harness/harness.h"

namespace heaplab::memory {

// Samples, while threads work, the bytes of the objects and the memory that the process holds for them. The
// pages of the harness and the stacks of the team's threads are subtracted.
class memory_log {
public:
  // Expects `operations` calls of allocated() and freed() from a team of `threads`; `samples` of the calls
  // also examine the memory of the process.
  memory_log(harness::measurement& measured, std::uint64_t operations, std::uint64_t samples,
             unsigned threads)
      : measured_(measured),
        stride_(std::max<std::uint64_t>(operations / samples, 1)),
        stacks_((threads - 1) * stack_bytes()),
        requested_series_(measured.add_series("requested", "B", points)),
        heap_(measured.add_series("heap", "B", points)),
        files_(measured.add_series("mmap_files", "B", points)),
        mmap_(measured.add_series("mmap", "B", points)),
        total_(measured.add_series("total", "B", points)),
        resident_(measured.add_series("resident", "B", points)) {}

  void allocated(std::uint64_t bytes) {
    requested_.fetch_add(bytes, std::memory_order_relaxed);
    count();
  }

  void freed(std::uint64_t bytes) {
    requested_.fetch_sub(bytes, std::memory_order_relaxed);
    count();
  }

  void sample() {
    pthread_mutex_lock(&mutex_);
    const double time = measured_.elapsed();
    const auto requested = static_cast<double>(requested_.load(std::memory_order_relaxed));
    probes::mapped_memory maps = probes::read_memory_maps();
    maps.mmap -= std::min(maps.mmap, probes::off_heap_pages_total() + stacks_);
    const auto resident = static_cast<double>(measured_.read_memory().anonymous);
    requested_series_.add(time, requested);
    heap_.add(time, static_cast<double>(maps.heap));
    files_.add(time, static_cast<double>(maps.files));
    mmap_.add(time, static_cast<double>(maps.mmap));
    total_.add(time, static_cast<double>(maps.total()));
    resident_.add(time, resident);
    most_requested_ = std::max(most_requested_, requested);
    most_total_ = std::max(most_total_, static_cast<double>(maps.total()));
    most_resident_ = std::max(most_resident_, resident);
    most_heap_ = std::max(most_heap_, static_cast<double>(maps.heap));
    last_total_ = static_cast<double>(maps.total());
    last_resident_ = resident;
    pthread_mutex_unlock(&mutex_);
  }

  // Called after the last sample.
  void report() const {
    measured_.add_metric("most_requested", most_requested_, "B");
    measured_.add_metric("most_total", most_total_, "B");
    measured_.add_metric("most_resident", most_resident_, "B");
    measured_.add_metric("most_heap", most_heap_, "B");
    // Few samples may all meet a moment at which nothing is allocated.
    if (most_requested_ > 0)
      measured_.add_metric("resident_per_requested", most_resident_ / most_requested_, "1");
    measured_.add_metric("total_kept", last_total_ / most_total_, "1");
    measured_.add_metric("resident_kept", last_resident_ / most_resident_, "1");
    // relaxed: the threads that write these counts have been joined.
    measured_.verify(requested_.load(std::memory_order_relaxed) == 0, "as many bytes freed as allocated");
    measured_.verify(operations_.load(std::memory_order_relaxed) != 0, "objects were allocated and freed");
  }

  static constexpr std::uint64_t most_samples = 2000;

private:
  // Room for the samples and for those at the beginning and the end.
  static constexpr std::size_t points = most_samples + 8;

  // Bytes that the C library maps for the stack of a thread, including the guard.
  static std::uint64_t stack_bytes() {
    pthread_attr_t attributes;
    std::size_t bytes = 0;
    pthread_attr_init(&attributes);
    pthread_attr_getstacksize(&attributes, &bytes);
    pthread_attr_destroy(&attributes);
    return bytes;
  }

  void count() {
    if ((operations_.fetch_add(1, std::memory_order_relaxed) + 1) % stride_ == 0) sample();
  }

  harness::measurement& measured_;
  std::uint64_t stride_;
  std::uint64_t stacks_;
  atomic<std::uint64_t> requested_ = 0;
  atomic<std::uint64_t> operations_ = 0;
  pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;  // guards all members below
  harness::series& requested_series_;
  harness::series& heap_;
  harness::series& files_;
  harness::series& mmap_;
  harness::series& total_;
  harness::series& resident_;
  double most_requested_ = 0;
  double most_total_ = 0;
  double most_resident_ = 0;
  double most_heap_ = 0;
  double last_total_ = 0;
  double last_resident_ = 0;
};

}  // namespace heaplab::memory
