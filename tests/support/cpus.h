// The CPUs on which a test may run, and how a thread gets to one of them.
#pragma once

#include <sched.h>

namespace heaplab::testing {

// The CPUs of the process at its beginning.
inline const cpu_set_t& allowed_cpus() {
  static const cpu_set_t result = [] {
    cpu_set_t set;
    sched_getaffinity(0, sizeof set, &set);
    return set;
  }();
  return result;
}

// The calling thread goes to one of them, and stays there.
inline void go_to_cpu(unsigned which) {
  which %= static_cast<unsigned>(CPU_COUNT(&allowed_cpus()));
  unsigned cpu = 0;
  for (;; ++cpu)
    if (CPU_ISSET(cpu, &allowed_cpus()) && which-- == 0) break;
  cpu_set_t this_cpu;
  CPU_ZERO(&this_cpu);
  CPU_SET(cpu, &this_cpu);
  sched_setaffinity(0, sizeof this_cpu, &this_cpu);
}

}  // namespace heaplab::testing
