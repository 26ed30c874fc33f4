#include "probes/tick_clock.h"

#include <sched.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "probes/latency_histogram.h"

namespace heaplab::probes {

namespace {

constexpr double rate_tolerance = 1e-3;
constexpr std::uint64_t calibration_ns = 5'000'000;  // each of two intervals
constexpr int processors_looked_at = 8;
constexpr double processor_tolerance_s = 20e-6;

bool processor_says_invariant() {
#if defined(__x86_64__)
  constexpr unsigned power_management_leaf = 0x80000007;
  constexpr unsigned invariant_bit = 1U << 8;
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  return __get_cpuid(power_management_leaf, &eax, &ebx, &ecx, &edx) != 0 && (edx & invariant_bit) != 0;
#else
  return false;
#endif
}

// The time on both clocks at one moment.
struct moment {
  std::uint64_t ticks;
  std::uint64_t ns;
};

// Reads both clocks several times and returns the reading that took the shortest time, which no interruption
// has spoiled.
moment read_both() {
  moment best{};
  std::uint64_t best_width = ~std::uint64_t{0};
  for (int attempt = 0; attempt < 16; ++attempt) {
    const std::uint64_t before = time_stamp_counter();
    const std::uint64_t ns = monotonic_nanoseconds();
    const std::uint64_t width = time_stamp_counter() - before;
    if (width < best_width) {
      best_width = width;
      best = {before + width / 2, ns};
    }
  }
  return best;
}

moment wait_until(std::uint64_t ns) {
  while (monotonic_nanoseconds() < ns) {
  }
  return read_both();
}

double rate(const moment& from, const moment& to) {
  return static_cast<double>(to.ticks - from.ticks) / (static_cast<double>(to.ns - from.ns) * 1e-9);
}

// Whether the counter, extrapolated from `origin`, shows the right time on the processors this process may
// use.
bool agrees_on_processors(const moment& origin, double ticks_per_second) {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return false;
  bool agrees = true;
  const int step = std::max(1, CPU_COUNT(&allowed) / processors_looked_at);
  for (int cpu = 0, nth = 0; cpu < CPU_SETSIZE && agrees; ++cpu) {
    if (!CPU_ISSET(cpu, &allowed) || nth++ % step != 0) continue;
    cpu_set_t this_cpu;
    CPU_ZERO(&this_cpu);
    CPU_SET(cpu, &this_cpu);
    if (sched_setaffinity(0, sizeof this_cpu, &this_cpu) != 0) continue;
    const moment now = read_both();
    const double by_ticks = static_cast<double>(now.ticks - origin.ticks) / ticks_per_second;
    const double by_clock = static_cast<double>(now.ns - origin.ns) * 1e-9;
    agrees = std::abs(by_ticks - by_clock) < processor_tolerance_s + rate_tolerance * by_clock;
  }
  sched_setaffinity(0, sizeof allowed, &allowed);
  return agrees;
}

// The counter's ticks per second, or 0 if the counter cannot be trusted.
double trusted_rate() {
  if (!processor_says_invariant()) return 0;
  const moment first = read_both();
  const moment second = wait_until(first.ns + calibration_ns);
  const moment third = wait_until(second.ns + calibration_ns);
  const double early = rate(first, second);
  const double late = rate(second, third);
  if (!(early > 0) || std::abs(late / early - 1) > rate_tolerance) return 0;
  const double whole = rate(first, third);
  return agrees_on_processors(third, whole) ? whole : 0;
}

// Intervals of 0 to 63 additions, each of which waits for the last, take times a fraction of a nanosecond
// apart. So the widest gap between the readings, sorted, is the step of the clock. The longest readings were
// interrupted, and are left out.
std::uint64_t smallest_step() {
  std::array<std::uint64_t, 1024> intervals;
  for (std::size_t i = 0; i < intervals.size(); ++i) {
    std::uint64_t sum = i;
    const std::uint64_t before = read_ticks();
    for (std::size_t additions = i % 64; additions != 0; --additions) asm volatile("" : "+r"(++sum));
    intervals[i] = read_ticks() - before;
  }
  std::sort(intervals.begin(), intervals.end());
  std::uint64_t step = 1;
  for (std::size_t i = 1; i < intervals.size() * 9 / 10; ++i)
    step = std::max(step, intervals[i] - intervals[i - 1]);
  return step;
}

double median_empty_interval(std::uint64_t step) {
  latency_histogram intervals;
  for (int i = 0; i < 1000; ++i) {
    const std::uint64_t before = read_ticks();
    intervals.record(read_ticks() - before);
  }
  return intervals.quantile(0.5, step);
}

// Maps the page of the pauses, whose file descriptor HEAPLAB_PAUSED names. False without one.
bool takes_turns() {
  const char* const descriptor = std::getenv("HEAPLAB_PAUSED");
  if (descriptor == nullptr) return false;
  const int file = static_cast<int>(std::strtol(descriptor, nullptr, 10));
  void* const page = mmap(nullptr, sizeof *paused_ns, PROT_READ, MAP_SHARED, file, 0);
  if (page == MAP_FAILED) return false;
  paused_ns = static_cast<const atomic<std::uint64_t>*>(page);
  return true;
}

}  // namespace

tick_clock tick_clock::calibrate(clock_source wanted) {
  tick_clock clock;
  ticks_come_from = clock_source::monotonic;
  if (!takes_turns() && wanted == clock_source::time_stamp_counter) {
    if (const double found = trusted_rate(); found > 0) {
      clock.source_ = ticks_come_from = clock_source::time_stamp_counter;
      clock.ticks_per_second_ = found;
    }
  }
  clock.step_ = smallest_step();
  clock.empty_interval_ = median_empty_interval(clock.step_);
  return clock;
}

}  // namespace heaplab::probes
