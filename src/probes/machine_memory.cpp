#include "probes/machine_memory.h"

#include <sys/resource.h>

#include <algorithm>
#include <limits>

#include "probes/small_file.h"

namespace heaplab::probes {

namespace {

constexpr std::uint64_t unlimited = std::numeric_limits<std::uint64_t>::max();

std::uint64_t machine_has() {
  char buffer[4096];
  const auto kib = number_after(read_small_file("/proc/meminfo", buffer, sizeof buffer), "MemAvailable:");
  return kib ? *kib * 1024 : unlimited;
}

// The limit of the control group that this process sees as the root of the hierarchy; inside a container,
// that group is the container's own.
std::uint64_t group_allows() {
  char buffer[64];
  const auto limit = number_after(read_small_file("/sys/fs/cgroup/memory.max", buffer, sizeof buffer), "");
  if (!limit) return unlimited;
  const auto used = number_after(read_small_file("/sys/fs/cgroup/memory.current", buffer, sizeof buffer), "");
  return *limit - std::min(*limit, used.value_or(0));
}

std::uint64_t process_may(__rlimit_resource_t resource) {
  rlimit limit;
  if (getrlimit(resource, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return unlimited;
  return limit.rlim_cur;
}

}  // namespace

std::uint64_t available_memory() {
  return std::min({machine_has(), group_allows(), process_may(RLIMIT_AS), process_may(RLIMIT_DATA)});
}

}  // namespace heaplab::probes
