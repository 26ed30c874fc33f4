// What happened in equal stretches of time. Their number stays below a bound: when it is reached, two become
// one.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/assertion.h"

namespace heaplab::trace {

struct stretch {
  std::uint64_t peak_bytes = 0;   // live at most
  std::uint64_t peak_blocks = 0;  // likewise, perhaps at another moment
  std::uint64_t live_bytes = 0;   // at the end
  std::uint64_t live_blocks = 0;
  std::uint64_t acquisitions = 0;
  std::uint64_t bytes_acquired = 0;
  std::uint64_t releases = 0;
};

class time_series {
public:
  static constexpr std::size_t most = 1024;  // stretches

  // The stretch of a stamp. Precondition: stamps do not descend.
  stretch& at(std::uint64_t stamp) {
    if (stretches_.empty()) {
      origin_ = stamp;
      stretches_.emplace_back();
    }
    HEAPLAB_ASSERT(stamp >= origin_);
    while ((stamp - origin_) / width_ >= most) halve();
    const auto place = static_cast<std::size_t>((stamp - origin_) / width_);
    HEAPLAB_ASSERT(place < most && place + 1 >= stretches_.size());
    while (stretches_.size() <= place) stretches_.push_back(after(stretches_.back()));
    return stretches_[place];
  }

  std::uint64_t origin() const { return origin_; }
  std::uint64_t width() const { return width_; }  // of a stretch, in ticks
  const std::vector<stretch>& stretches() const { return stretches_; }

private:
  static stretch after(const stretch& before) {
    stretch next;
    next.peak_bytes = next.live_bytes = before.live_bytes;
    next.peak_blocks = next.live_blocks = before.live_blocks;
    return next;
  }

  static stretch joined(const stretch& first, const stretch& second) {
    stretch both = second;
    both.peak_bytes = std::max(first.peak_bytes, second.peak_bytes);
    both.peak_blocks = std::max(first.peak_blocks, second.peak_blocks);
    both.acquisitions += first.acquisitions;
    both.bytes_acquired += first.bytes_acquired;
    both.releases += first.releases;
    return both;
  }

  void halve() {
    HEAPLAB_ASSERT(width_ <= UINT64_MAX / 2);
    width_ *= 2;
    const std::size_t pairs = stretches_.size() / 2;
    for (std::size_t pair = 0; pair < pairs; ++pair)
      stretches_[pair] = joined(stretches_[2 * pair], stretches_[2 * pair + 1]);
    if (stretches_.size() % 2 != 0) stretches_[pairs] = stretches_.back();
    stretches_.resize(stretches_.size() - pairs);
  }

  std::uint64_t origin_ = 0;
  std::uint64_t width_ = 1;
  std::vector<stretch> stretches_;
};

}  // namespace heaplab::trace
