#pragma once

#include <cstddef>
#include <cstdint>

#include "allocators/scalloc/policy/config.h"
#include "allocators/scalloc/policy/tuning.h"

namespace heaplab::scalloc {

// How much memory of free spans the span-pool retains. Sizes in bytes.
class retention {
public:
  constexpr retention() = default;
  explicit retention(const tuning& chosen)
      : purge_above_(chosen.purge_above),
        limit_(chosen.retained_span_bytes),
        may_exceed_bound_(chosen.retains_beyond_bound && chosen.purge_when_idle) {}

  // Whether memory of free spans may be retained.
  bool retains() const { return limit_ > 0; }

  // Whether the memory of a free span is purged some day.
  bool is_purged(std::size_t real_span_bytes) const { return real_span_bytes > purge_above_; }

  // Whether free spans may exceed the bound while the background purge thread is there.
  bool may_exceed_bound() const { return may_exceed_bound_; }

  // The bound on the memory of all free spans.
  std::int64_t bound(const config& from, std::size_t fine_zone) const {
    return static_cast<std::int64_t>(limit_ + fine_zone / from.retained_fine_divisor);
  }

  // The bound on the memory of all tails (span_tails.h).
  std::int64_t bound_of_tails(const config& from, std::size_t fine_zone) const {
    return retains() ? static_cast<std::int64_t>(fine_zone / from.retained_fine_divisor) : 0;
  }

private:
  std::size_t purge_above_ = unlimited;
  std::size_t limit_ = 0;
  bool may_exceed_bound_ = false;
};

}  // namespace heaplab::scalloc
