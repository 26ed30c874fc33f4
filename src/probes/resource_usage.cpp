#include "probes/resource_usage.h"

#include <sys/resource.h>
#include <time.h>

namespace heaplab::probes {

resource_usage resource_usage::now() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  timespec cpu{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  return {.user_s = seconds(usage.ru_utime),
          .system_s = seconds(usage.ru_stime),
          .cpu_s = static_cast<double>(cpu.tv_sec) + static_cast<double>(cpu.tv_nsec) * 1e-9,
          .minor_faults = static_cast<std::uint64_t>(usage.ru_minflt),
          .major_faults = static_cast<std::uint64_t>(usage.ru_majflt),
          .voluntary_switches = static_cast<std::uint64_t>(usage.ru_nvcsw),
          .involuntary_switches = static_cast<std::uint64_t>(usage.ru_nivcsw)};
}

resource_usage resource_usage::operator-(const resource_usage& earlier) const {
  return {.user_s = user_s - earlier.user_s,
          .system_s = system_s - earlier.system_s,
          .cpu_s = cpu_s - earlier.cpu_s,
          .minor_faults = minor_faults - earlier.minor_faults,
          .major_faults = major_faults - earlier.major_faults,
          .voluntary_switches = voluntary_switches - earlier.voluntary_switches,
          .involuntary_switches = involuntary_switches - earlier.involuntary_switches};
}

}  // namespace heaplab::probes
