// The clock of all measurements: the processor's time stamp counter if it can be trusted, else
// clock_gettime(CLOCK_MONOTONIC). In a process that takes turns with others it is the latter without the
// pauses.
//
// The counter is trusted if the processor calls it invariant (it then runs at one rate at every core
// frequency, also in sleep), if two measurements of its rate agree, and if it shows the same time on every
// processor examined. The counter counts reference ticks, not core cycles.
#pragma once

#include <time.h>

#include <algorithm>
#include <cstdint>

#include "base/atomic.h"

namespace heaplab::probes {

enum class clock_source { time_stamp_counter, monotonic };

// Set once by tick_clock::calibrate, before other threads exist.
inline constinit clock_source ticks_come_from = clock_source::monotonic;

inline std::uint64_t monotonic_nanoseconds() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(now.tv_nsec);
}

// The nanoseconds for which this process was stopped so far, because others have their turns. heaplab writes
// them to a page that it shares with the process, while the process is stopped.
inline constinit const atomic<std::uint64_t> never_paused{0};
inline constinit const atomic<std::uint64_t>* paused_ns = &never_paused;

// The system's clock without the pauses. If a pause came between the two readings, the second reading of the
// pauses differs from the first. Relaxed: the process is stopped while the page is written, so the kernel
// orders the write before every later instruction of the process.
inline std::uint64_t own_nanoseconds() {
  for (;;) {
    const std::uint64_t paused = paused_ns->load(std::memory_order_relaxed);
    const std::uint64_t now = monotonic_nanoseconds();
    if (paused_ns->load(std::memory_order_relaxed) == paused) [[likely]]
      return now - paused;
  }
}

// The first fence waits for all earlier instructions to finish; the second keeps later instructions from
// starting before the counter is read.
inline std::uint64_t time_stamp_counter() {
#if defined(__x86_64__)
  __builtin_ia32_lfence();
  const std::uint64_t ticks = __builtin_ia32_rdtsc();
  __builtin_ia32_lfence();
  return ticks;
#else
  return monotonic_nanoseconds();
#endif
}

// The present time in ticks. The origin is unspecified: only differences mean anything.
inline std::uint64_t read_ticks() {
  if (ticks_come_from == clock_source::time_stamp_counter) [[likely]]
    return time_stamp_counter();
  return own_nanoseconds();
}

// The result of the calibration. May be copied freely.
class tick_clock {
public:
  // Tests the time stamp counter and measures its rate; takes about 10 ms. If `wanted` is monotonic, a test
  // fails, or the process takes turns (HEAPLAB_PAUSED), a tick is a nanosecond.
  static tick_clock calibrate(clock_source wanted = clock_source::time_stamp_counter);

  clock_source source() const { return source_; }
  double ticks_per_second() const { return ticks_per_second_; }
  double seconds(double ticks) const { return ticks / ticks_per_second_; }
  double seconds(std::uint64_t ticks) const { return seconds(static_cast<double>(ticks)); }

  // The smallest difference between two readings, in ticks. Some processors count in steps of 10 ns, which is
  // more than a call of malloc takes.
  std::uint64_t step() const { return step_; }
  // The median number of ticks between two stamps with nothing in between, which is the part of a short
  // interval that the measurement itself causes. Found to a fraction of a step.
  double empty_interval() const { return empty_interval_; }
  // The seconds in `ticks`, which were measured as the sum of `intervals` intervals, without what their
  // stamps took; at least 0.
  double seconds_without_stamps(double ticks, std::uint64_t intervals = 1) const {
    return seconds(std::max(0.0, ticks - static_cast<double>(intervals) * empty_interval_));
  }

private:
  clock_source source_ = clock_source::monotonic;
  double ticks_per_second_ = 1e9;
  std::uint64_t step_ = 1;
  double empty_interval_ = 0;
};

}  // namespace heaplab::probes
