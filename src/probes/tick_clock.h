// The clock of all measurements: the processor's time stamp counter where it can be trusted, otherwise
// clock_gettime(CLOCK_MONOTONIC).
//
// The counter is trusted when the processor calls it invariant (it then runs at one rate whatever the
// core's frequency, also in sleep), when two measurements of its rate agree, and when it shows the same
// time on every processor looked at. It counts reference ticks, not the core's cycles.
#pragma once

#include <time.h>

#include <cstdint>

namespace heaplab::probes {

enum class clock_source { time_stamp_counter, monotonic };

// Set once by tick_clock::calibrate, before other threads exist.
inline constinit clock_source ticks_come_from = clock_source::monotonic;

inline std::uint64_t monotonic_nanoseconds() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(now.tv_nsec);
}

// Both fences are needed: what came before is finished, and what comes after has not begun, when the
// counter is read.
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

// Now, in ticks of unspecified origin. Only differences mean anything.
inline std::uint64_t read_ticks() {
  if (ticks_come_from == clock_source::time_stamp_counter) [[likely]]
    return time_stamp_counter();
  return monotonic_nanoseconds();
}

// What the calibration found. Copy freely.
class tick_clock {
public:
  // Tests the time stamp counter and measures its rate; takes about 10 ms. With `wanted` monotonic, or
  // where a test fails, all ticks are nanoseconds.
  static tick_clock calibrate(clock_source wanted = clock_source::time_stamp_counter);

  clock_source source() const { return source_; }
  double ticks_per_second() const { return ticks_per_second_; }
  double seconds(std::uint64_t ticks) const { return static_cast<double>(ticks) / ticks_per_second_; }
  // Ticks between two stamps with nothing in between (median): the part of a short interval that is the
  // measurement itself.
  std::uint64_t empty_interval() const { return empty_interval_; }

private:
  clock_source source_ = clock_source::monotonic;
  double ticks_per_second_ = 1e9;
  std::uint64_t empty_interval_ = 0;
};

}  // namespace heaplab::probes
