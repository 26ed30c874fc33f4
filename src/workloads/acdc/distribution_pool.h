#pragma once

#include <cstdint>
#include <mutex>
#include <span>

#include "base/cache_line.h"
#include "probes/off_heap_pages.h"
#include "workloads/acdc/lifetime_class.h"

namespace heaplab::acdc {

// Figure 6: for each thread, the lifetime-classes that other threads share with it, by liveness and under a
// lock. A shared object expires for each receiver by the receiver's own clock.
class distribution_pool {
public:
  distribution_pool(probes::off_heap_pages& pages, unsigned threads, std::uint64_t max_liveness)
      : entries_(pages.array<entry>(threads)) {
    for (entry& waiting : entries_) waiting.by_liveness = pages.array<lifetime_class>(max_liveness + 1);
  }

  static std::size_t bytes_needed(unsigned threads, std::uint64_t max_liveness) {
    return probes::off_heap_pages::needed<entry>(threads) +
           threads * probes::off_heap_pages::needed<lifetime_class>(max_liveness + 1);
  }

  void put(unsigned receiver, holding* node) {
    entry& to = entries_[receiver];
    const std::lock_guard lock(to.mutex);
    to.by_liveness[node->held->liveness].add(node);
  }

  // Calls insert(lifetime_class, liveness) for everything that has arrived, the permanent class first.
  template <class Insert>
  void collect(unsigned receiver, Insert insert) {
    entry& from = entries_[receiver];
    const std::lock_guard lock(from.mutex);
    for (std::uint64_t liveness = 0; liveness < from.by_liveness.size(); ++liveness)
      insert(from.by_liveness[liveness].take_all(), liveness);
  }

private:
  struct alignas(cache_line_bytes) entry {
    std::mutex mutex;
    std::span<lifetime_class> by_liveness;
  };

  std::span<entry> entries_;
};

}  // namespace heaplab::acdc
