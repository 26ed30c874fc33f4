// Hardware counters, where the machine has them and the user may read them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace heaplab::probes {

// Counts user-mode events of this process, including threads created after the construction. A counter that
// the machine lacks is absent, never 0.
class perf_counters {
public:
  static constexpr std::array<const char*, 5> names{"instructions", "cycles", "cache_misses", "dtlb_misses",
                                                    "branch_misses"};

  // Opens the available counters; all stand still until start().
  perf_counters();
  ~perf_counters();
  perf_counters(const perf_counters&) = delete;
  perf_counters& operator=(const perf_counters&) = delete;

  void start();
  void stop();

  // The events between start and stop of the counter with this index in `names`. The count is scaled up to
  // the whole time if the kernel multiplexed the counters; it is absent if the counter never ran.
  std::optional<double> count(std::size_t index) const;

private:
  void control(unsigned long request);

  std::array<int, names.size()> files_;
};

}  // namespace heaplab::probes
