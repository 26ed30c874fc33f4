// Freed large blocks that wait for the next requests, oldest first.
//
// A request takes the smallest retained mapping that is large enough and leaves the rest of the mapping here,
// or else takes the largest mapping to be grown: either way the request touches no more new pages than it
// must. Mappings that nobody took for a whole decay period are given back.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "allocators/scalloc/large/large_mappings.h"
#include "allocators/scalloc/policy/config.h"
#include "base/assertion.h"
#include "base/bits.h"
#include "base/os_pages.h"

namespace heaplab::scalloc {

// The bytes of live large blocks, and their recent peak: the most at any time of the current period and of
// the period before. For the holder of a lock.
template <class Traits>
class live_account {
public:
  std::size_t bytes() const { return bytes_; }
  std::size_t recent_peak() const { return std::max(peak_, peak_before_); }

  // `now` is in ms.
  void set(std::size_t bytes, std::int64_t now) {
    constexpr std::int64_t period = Traits::config.decay_milliseconds;
    if (now - period_start_ > period) {
      // After a whole period without a change, the level of that period is its peak.
      peak_before_ = now - period_start_ > 2 * period ? bytes_ : peak_;
      peak_ = bytes_;
      period_start_ = now;
    }
    bytes_ = bytes;
    peak_ = std::max(peak_, bytes);
  }

private:
  std::size_t bytes_ = 0;
  std::size_t peak_ = 0, peak_before_ = 0;
  std::int64_t period_start_ = 0;  // ms
};

// Most freed blocks that are retained. Each request looks at all of them, under the lock.
inline constexpr unsigned most_retained_mappings = 64;

struct retained_mapping {
  char* block;
  std::size_t bytes;
  std::int64_t since;  // ms
};

// Mappings that are no longer retained, until their holder has released its lock: to free much memory takes
// long, and others want the lock. A child of fork loses what another thread had here.
template <class Traits>
class leaving_mappings {
  static constexpr unsigned limit = most_retained_mappings;

public:
  void add(const retained_mapping& mapping) {
    HEAPLAB_ASSERT(count_ < limit);
    all_[count_++] = mapping;
  }

  // Not under the lock.
  void release(large_mappings<Traits>& to) {
    for (; count_ > 0; --count_) to.release(all_[count_ - 1].block, all_[count_ - 1].bytes);
  }

private:
  unsigned count_ = 0;
  retained_mapping all_[limit];
};

// For the holder of a lock. What leaves in one tenure of the lock fits into leaving_mappings: no more than
// were retained.
template <class Traits>
class retained_mappings {
  static constexpr const scalloc::config& config = Traits::config;
  static constexpr unsigned slots = most_retained_mappings;
  // Within the limit, blocks are retained up to these bytes plus 1/N of those of live blocks. More saves page
  // faults and raises the peak. Measured with large_cycle.
  static constexpr std::size_t floor_bytes = 8 * mib, live_divisor = 8;
  // A request takes a mapping whole if at most 1/N more than asked would remain.
  static constexpr std::size_t rest_divisor = 16;
  using leaving = leaving_mappings<Traits>;

public:
  constexpr explicit retained_mappings(std::size_t limit) : limit_(limit) {}
  void set_limit(std::size_t bytes) { limit_ = bytes; }

  std::size_t bytes() const { return bytes_; }

  // The smallest mapping of at least `bytes`, else the largest. A mapping that must grow may move to any
  // page, so that it serves no larger alignment. A null block: nothing fits.
  retained_mapping take(std::size_t bytes, std::size_t alignment) {
    unsigned best = slots;
    for (unsigned index = count_; index-- > 0;) {
      const std::size_t size = all_[index].bytes;
      if (!is_aligned(all_[index].block, alignment) || (size < bytes && alignment > os_pages::page_bytes()))
        continue;
      if (best == slots || is_better(size, all_[best].bytes, bytes)) best = index;
    }
    if (best == slots) return {};
    const retained_mapping found = all_[best];
    // A small rest is not worth a slot.
    if (found.bytes <= bytes + bytes / rest_divisor) {
      remove(best);
      return found;
    }
    const std::size_t taken = bytes + large_mappings<Traits>::guard_bytes();
    all_[best].block += taken;
    all_[best].bytes -= taken;
    bytes_ -= taken;
    return {found.block, bytes, found.since};
  }

  // Retains a mapping and releases the oldest ones beyond a bound. The bound grows with the live bytes,
  // and is never above the distance of the live bytes from their recent peak: what the program
  // did not use at its peak is not needed to reach that peak again. The new mapping alone is always within
  // the bound, unless it exceeds the limit. False: it does, and nothing has changed.
  bool put(char* block, std::size_t bytes, const live_account<Traits>& live, std::int64_t now, leaving& to) {
    if (bytes > limit_) return false;
    const std::size_t share = floor_bytes + live.bytes() / live_divisor;
    const std::size_t fallen = live.recent_peak() - live.bytes();
    const std::size_t bound = std::min(limit_, std::max(bytes, std::min(share, fallen)));
    while (bytes_ + bytes > bound || count_ == slots) release_oldest(to);
    // A thread reads the clock before it takes the lock, so that `now` may lie before that of the newest.
    const std::int64_t since = count_ > 0 ? std::max(now, all_[count_ - 1].since) : now;
    all_[count_++] = {block, bytes, since};
    bytes_ += bytes;
    HEAPLAB_ASSERT_EXPENSIVE(is_valid());
    return true;
  }

  // Releases what has been retained for longer than a decay period.
  void decay(std::int64_t now, leaving& to) {
    while (count_ > 0 && now - all_[0].since > config.decay_milliseconds) release_oldest(to);
  }

  // Releases the oldest mappings until at most `pad` bytes are retained. True if there were any.
  bool trim(std::size_t pad, leaving& to) {
    const bool any = bytes_ > pad;
    while (bytes_ > pad) release_oldest(to);
    return any;
  }

  // Whether any retained mapping and [block, block + bytes) have a byte in common.
  bool overlaps(const char* block, std::size_t bytes) const {
    const auto meets = [=](const retained_mapping& mapping) {
      return block < mapping.block + mapping.bytes && mapping.block < block + bytes;
    };
    return std::any_of(all_, all_ + count_, meets);
  }

  // Whether the account is right, the oldest mapping comes first, and no two of them overlap.
  bool is_valid() const {
    std::size_t bytes = 0;
    for (unsigned index = 0; index < count_; ++index) {
      const retained_mapping& mapping = all_[index];
      const std::size_t page = os_pages::page_bytes();
      if (mapping.bytes == 0 || !is_aligned(mapping.block, page) || mapping.bytes % page != 0) return false;
      if (index > 0 && mapping.since < all_[index - 1].since) return false;
      const auto meets = [&mapping](const retained_mapping& other) {
        return other.block < mapping.block + mapping.bytes && mapping.block < other.block + other.bytes;
      };
      if (std::any_of(all_, all_ + index, meets)) return false;
      bytes += mapping.bytes;
    }
    return bytes == bytes_ && count_ <= slots;
  }

  // In the child of a fork: the list may be torn, and its mappings are lost.
  void forget_all() { bytes_ = count_ = 0; }

private:
  // Whether a mapping of `candidate` bytes serves a request for `wanted` better than a mapping of `other`
  // bytes.
  static bool is_better(std::size_t candidate, std::size_t other, std::size_t wanted) {
    if (candidate >= wanted) return other < wanted || candidate < other;
    return other < wanted && candidate > other;
  }

  void release_oldest(leaving& to) {
    to.add(all_[0]);
    remove(0);
  }

  void remove(unsigned index) {
    bytes_ -= all_[index].bytes;
    --count_;
    for (; index < count_; ++index) all_[index] = all_[index + 1];
  }

  std::size_t limit_;
  std::size_t bytes_ = 0;
  unsigned count_ = 0;
  retained_mapping all_[slots] = {};  // oldest first
};

}  // namespace heaplab::scalloc
