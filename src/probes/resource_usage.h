#pragma once

#include <cstdint>

namespace heaplab::probes {

// CPU time, faults and context switches of this process so far, as the kernel counts them, all threads
// together.
struct resource_usage {
  double user_s = 0;
  double system_s = 0;
  double cpu_s = 0;  // user and system time, as precise as the kernel keeps it: CLOCK_PROCESS_CPUTIME_ID
  std::uint64_t minor_faults = 0;
  std::uint64_t major_faults = 0;
  std::uint64_t voluntary_switches = 0;
  std::uint64_t involuntary_switches = 0;

  static resource_usage now();
  resource_usage operator-(const resource_usage& earlier) const;
};

}  // namespace heaplab::probes
