// Counters of the processor, where the machine has them and lets a user read them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace heaplab::probes {

// Counts user-mode events of this process, of threads made after the construction too. A counter the
// machine does not have is absent, never 0.
class perf_counters {
public:
  static constexpr std::array<const char*, 5> names{"instructions", "cycles", "cache_misses", "dtlb_misses",
                                                    "branch_misses"};

  // Opens what there is; all stand still until start().
  perf_counters();
  ~perf_counters();
  perf_counters(const perf_counters&) = delete;
  perf_counters& operator=(const perf_counters&) = delete;

  void start();
  void stop();

  // The events between start and stop of the counter with this index in `names`. Where counters had to
  // take turns the count is scaled up to the whole time; absent too if it had no turn.
  std::optional<double> count(std::size_t index) const;

private:
  void control(unsigned long request);

  std::array<int, names.size()> files_;
};

}  // namespace heaplab::probes
