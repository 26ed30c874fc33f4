#include "recorded/census_moments.h"

#include <algorithm>
#include <array>

namespace heaplab::recorded {

void census_moments::see(std::uint64_t live_bytes, std::uint64_t live_blocks) {
  const point now{live_bytes, ++events_};
  most_blocks_ = std::max(most_blocks_, live_blocks);
  const auto place = static_cast<std::size_t>((events_ - 1) / width_);
  if (place == most_stretches) {
    halve();
    return stretches_.push_back({now, now});
  }
  if (place == stretches_.size()) return stretches_.push_back({now, now});
  stretch& last = stretches_.back();
  if (live_bytes < last.lowest.live_bytes) last.lowest = now;
  if (live_bytes > last.highest.live_bytes) last.highest = now;
}

// Two stretches become one.
void census_moments::halve() {
  width_ *= 2;
  for (std::size_t pair = 0; pair < most_stretches / 2; ++pair) {
    const stretch& first = stretches_[2 * pair];
    const stretch& second = stretches_[2 * pair + 1];
    stretches_[pair] = {
        second.lowest.live_bytes < first.lowest.live_bytes ? second.lowest : first.lowest,
        second.highest.live_bytes > first.highest.live_bytes ? second.highest : first.highest};
  }
  stretches_.resize(most_stretches / 2);
}

// The turning points of the curve, where it turns by more than `least_depth`.
std::vector<census_moments::trough> census_moments::troughs(std::uint64_t least_depth) const {
  std::vector<trough> found;
  bool falling = false;
  point high;  // the highest since the last trough
  point low;   // the lowest since that
  point last;  // the last that is nearly as low: an allocator had time to purge
  const auto follow = [&](const point& next) {
    if (!falling) {
      if (next.live_bytes >= high.live_bytes) high = next;
      falling = high.live_bytes - next.live_bytes > least_depth;
      low = last = next;
    } else if (next.live_bytes < low.live_bytes) {
      low = last = next;
    } else if (next.live_bytes - low.live_bytes <= least_depth / nearly_share) {
      last = next;
    } else if (next.live_bytes - low.live_bytes > least_depth) {
      found.push_back({last, high.live_bytes - low.live_bytes});
      high = next;
      falling = false;
    }
  };
  for (const stretch& quiet : stretches_) {
    const bool falls = quiet.highest.events < quiet.lowest.events;
    for (const point& next :
         falls ? std::array{quiet.highest, quiet.lowest} : std::array{quiet.lowest, quiet.highest})
      follow(next);
  }
  return found;
}

std::vector<moment> census_moments::chosen() const {
  if (stretches_.empty()) return {};
  const auto lower = [](const stretch& left, const stretch& right) {
    return left.highest.live_bytes < right.highest.live_bytes;
  };
  const point peak = std::max_element(stretches_.begin(), stretches_.end(), lower)->highest;
  const auto affordable = static_cast<std::size_t>(most_survivors / std::max<std::uint64_t>(1, most_blocks_));

  std::vector<trough> deepest = troughs(peak.live_bytes / depth_share);
  std::sort(deepest.begin(), deepest.end(), [](const trough& left, const trough& right) {
    return left.depth != right.depth ? left.depth > right.depth : left.at.events < right.at.events;
  });
  deepest.resize(std::min({deepest.size(), most_troughs, std::max<std::size_t>(1, affordable)}));

  std::vector<moment> found{{peak.events, occasion::peak}};
  for (const trough& low : deepest) found.push_back({low.at.events, occasion::trough});
  const std::size_t samples = std::min(most_samples, affordable - std::min(affordable, found.size()));
  for (std::uint64_t number = 1; number <= samples; ++number)
    if (const std::uint64_t events = events_ * number / (samples + 1); events != 0)
      found.push_back({events, occasion::sample});
  std::sort(found.begin(), found.end(), [](const moment& left, const moment& right) {
    return left.events != right.events ? left.events < right.events : left.why > right.why;
  });
  const auto same = [](const moment& left, const moment& right) { return left.events == right.events; };
  found.erase(std::unique(found.begin(), found.end(), same), found.end());
  return found;
}

}  // namespace heaplab::recorded
