#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>

#include "base/cache_line.h"
#include "concurrent/sync.h"

namespace heaplab::concurrent {

// A sum in parts, for threads that seldom ask for the sum. Each part lies on a cache line of its own, so that
// threads which use different parts do not disturb each other.
//
// Whether the sum exceeds a bound is known without adding up: each part has a quota, up to which the part may
// grow, and granted() is the sum of the quotas. A part that grows beyond its quota is granted more, and only
// then the caller learns what is granted in all. Parts that shrink keep their quotas until shrink_quotas().
//
// At rest no part exceeds its quota, so that the sum is at most granted() (is_valid). While threads are at
// work:
//
//   - A thread adds to the part and then reads the quota; shrink_quotas lowers the quota and then reads the
//     part (Dekker pattern, all four seq_cst). So at least one of them sees that the part exceeds the quota,
//     and raises the quota. If both do, the compare-and-swap of one fails.
//   - The thread whose compare-and-swap changed a quota changes granted() by the difference. A thread that
//     raises a quota reads granted() afterwards: of threads that together raise granted() to some amount the
//     last one, in the one order of seq_cst, learns of that amount.
//
// A part may be negative, where one thread adds here and another subtracts there.
//
// In the child of a fork the account may be off by what a vanished thread was about to change.
template <class Sync, unsigned Limit>
class split_account {
public:
  // So that a growing part seldom asks, its quota is raised by a quarter more than is needed, at most by
  // `most_ahead`. So granted() is at most a quarter above the sum of what the parts were at their largest.
  constexpr explicit split_account(std::int64_t most_ahead) : most_ahead_(most_ahead) {}

  // Returns what is granted to all parts, if this part had to be granted more.
  std::optional<std::int64_t> add(unsigned part, std::int64_t amount) {
    share& of_part = shares_[part];
    const std::int64_t sum = of_part.sum.fetch_add(amount, std::memory_order_seq_cst) + amount;
    return cover(of_part, sum, std::clamp<std::int64_t>(sum / 4, 0, most_ahead_));
  }

  // Returns what is left in the part. relaxed: to miss that a part has shrunk leaves its quota too large, not
  // too small.
  std::int64_t subtract(unsigned part, std::int64_t amount) {
    return shares_[part].sum.fetch_add(-amount, std::memory_order_relaxed) - amount;
  }

  // Makes the quotas of the first `parts` parts as small as the parts are. Returns what is granted then: the
  // sum if no thread added meanwhile, else at least the sum.
  std::int64_t shrink_quotas(unsigned parts) {
    for (share& of_part : std::span(shares_, parts)) {
      std::int64_t quota = of_part.quota.load(std::memory_order_seq_cst);
      const std::int64_t sum = of_part.sum.load(std::memory_order_seq_cst);
      if (quota <= sum || !of_part.quota.compare_exchange_strong(quota, sum, std::memory_order_seq_cst,
                                                                 std::memory_order_seq_cst))
        continue;
      granted_.fetch_add(sum - quota, std::memory_order_seq_cst);
      cover(of_part, of_part.sum.load(std::memory_order_seq_cst), 0);
    }
    return granted_.load(std::memory_order_seq_cst);
  }

  // relaxed: a number for statistics, or for a thread that knows no other to be at work.
  std::int64_t of_part(unsigned part) const { return shares_[part].sum.load(std::memory_order_relaxed); }
  std::int64_t sum(unsigned parts) const {
    std::int64_t result = 0;
    for (unsigned part = 0; part < parts; ++part) result += of_part(part);
    return result;
  }

  // The invariant while no thread is at work.
  bool is_valid() const {
    std::int64_t quotas = 0;
    for (const share& of_part : shares_) {
      const std::int64_t quota = of_part.quota.load(std::memory_order_relaxed);
      if (of_part.sum.load(std::memory_order_relaxed) > quota) return false;
      quotas += quota;
    }
    return quotas == granted_.load(std::memory_order_relaxed);
  }

private:
  using number = typename Sync::template atomic<std::int64_t>;

  struct alignas(cache_line_bytes) share {
    number sum{0};
    number quota{0};
  };

  // Raises the quota to `sum` and `more`, if it is below `sum`. Returns what is granted then.
  std::optional<std::int64_t> cover(share& of_part, std::int64_t sum, std::int64_t more) {
    std::int64_t quota = of_part.quota.load(std::memory_order_seq_cst);
    while (quota < sum) {
      const std::int64_t raise = sum + more - quota;
      if (of_part.quota.compare_exchange_strong(quota, quota + raise, std::memory_order_seq_cst,
                                                std::memory_order_seq_cst))
        return granted_.fetch_add(raise, std::memory_order_seq_cst) + raise;
    }
    return std::nullopt;
  }

  const std::int64_t most_ahead_;
  alignas(cache_line_bytes) number granted_{0};
  share shares_[Limit];
};

}  // namespace heaplab::concurrent
