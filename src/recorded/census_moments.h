// Chooses the moments of a recorded program at which a replay is to tell what holds the memory: the highest
// peak of live bytes, the troughs after peaks, and some moments that follow each other evenly. The events are
// read once for this before the trace is compiled: only the whole curve tells what a trough is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "recorded/workload_format.h"

namespace heaplab::recorded {

struct moment {
  std::uint64_t events = 0;  // of the process, up to this moment
  occasion why = occasion::sample;

  friend bool operator==(const moment&, const moment&) = default;
};

class census_moments {
public:
  static constexpr std::size_t most_troughs = 8;
  static constexpr std::size_t most_samples = 16;
  // A trough lies lower than the peak before it, and than the peak or end behind it, by this share of the
  // highest peak.
  static constexpr std::uint64_t depth_share = 8;
  // A trough's census is at its last moment whose live bytes exceed its lowest by at most this share of that
  // depth.
  static constexpr std::uint64_t nearly_share = 8;
  // Bound of the survivors of all moments together, if at each moment as many blocks survive as live.
  static constexpr std::uint64_t most_survivors = std::uint64_t{1} << 25;

  // Called after each event, with what lives then.
  void see(std::uint64_t live_bytes, std::uint64_t live_blocks);
  // In the order of events; at most one after each event. The end, which has a census too, is not named.
  std::vector<moment> chosen() const;

private:
  struct point {
    std::uint64_t live_bytes = 0;
    std::uint64_t events = 0;
  };
  // All stretches have equally many events. A stretch keeps its lowest and its highest point.
  struct stretch {
    point lowest;
    point highest;
  };
  struct trough {
    point at;
    std::uint64_t depth = 0;  // below the peak before it
  };
  static constexpr std::size_t most_stretches = 4096;

  void halve();
  std::vector<trough> troughs(std::uint64_t least_depth) const;

  std::vector<stretch> stretches_;
  std::uint64_t width_ = 1;  // of a stretch, in events
  std::uint64_t events_ = 0;
  std::uint64_t most_blocks_ = 0;
};

}  // namespace heaplab::recorded
