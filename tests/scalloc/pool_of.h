// A span-pool without a frontend, and spans as a frontend leaves them.
#pragma once

#include <gtest/gtest.h>
#include <sys/uio.h>

#include <functional>
#include <new>
#include <span>
#include <utility>
#include <vector>

#include "allocators/scalloc/policy/variants.h"
#include "allocators/scalloc/pool/span_pool.h"
#include "base/atomic.h"
#include "concurrent/sync.h"
#include "scalloc/traits.h"

namespace heaplab::scalloc {

inline constexpr config kept = [] {
  config result = standard();
  result.retained_span_bytes = 4 * mib;
  result.idle_purge_bytes = 4 * mib;
  result.huge_pages = huge_page_policy::never;
  return result;
}();

// Counts purges, and refuses them on demand, as the system does for locked memory, or memory for maps.
struct counting_platform : system_platform {
  static inline heaplab::atomic<unsigned> purges;
  static inline bool refuses;
  static inline heaplab::atomic<unsigned> requests;  // for the background purge thread
  static inline bool has_purge_thread = false;
  static inline unsigned hurries;  // of that thread

  // 1: the next allocation is refused, 2: the one after it; 0: none is.
  static inline unsigned allocations_until_refused;
  static void* allocate(std::size_t bytes, std::size_t alignment) {
    if (allocations_until_refused > 0 && --allocations_until_refused == 0) return nullptr;
    return os_pages::allocate(bytes, alignment);
  }
  static bool purge(void* address, std::size_t bytes) {
    purges.fetch_add(1, std::memory_order_relaxed);
    return !refuses && os_pages::purge(address, bytes);
  }
  static inline std::function<void()> at_purge;  // called once
  static bool purge_each(std::span<const iovec> ranges) {
    if (const auto look = std::exchange(at_purge, nullptr)) look();
    purges.fetch_add(static_cast<unsigned>(ranges.size()), std::memory_order_relaxed);
    return !refuses && os_pages::purge_each(ranges);
  }
};

template <const config& Config>
struct pool_traits : test_traits<concurrent::std_sync, Config, counting_platform> {
  static bool ask_for_purge() {
    counting_platform::requests.fetch_add(1, std::memory_order_relaxed);
    return counting_platform::has_purge_thread;
  }
  static void hurry_purge() { ++counting_platform::hurries; }
};

template <const config& Config>
struct pool_of {
  using span_type = span<pool_traits<Config>>;

  explicit pool_of(tuning chosen = tuning{Config}) {
    EXPECT_TRUE(spans.open(std::size_t{1} << 36, huge_page_policy::never));
    pool.open(2, chosen);
  }
  ~pool_of() { spans.close(); }

  // `count` spans of a class that have been used and are free again.
  std::vector<span_type*> used(unsigned class_index, unsigned count) {
    const size_class& kind = pool_traits<Config>::classes::table[class_index];
    std::vector<span_type*> result;
    for (unsigned step = 0; step < count; ++step) {
      span_type* const span = spans.carve(kind.fine, 0);
      if (span == nullptr) throw std::bad_alloc();
      span->class_index.store(class_index, std::memory_order_relaxed);
      span->word.store(span_word{}.take().retire().all_free().bits(), std::memory_order_relaxed);
      span->set_resident_bytes(kind.real_span_bytes);
      span->base[0] = 1;
      result.push_back(span);
    }
    return result;
  }
  void put(const std::vector<span_type*>& all) {
    for (span_type* const span : all) pool.put(spans, *span, 0);
  }
  std::size_t resident() {
    std::size_t bytes = 0;
    spans.for_each_span([&](const span_type& span) { bytes += span.resident_bytes(); });
    return bytes;
  }
  std::size_t bound() const { return Config.retained_span_bytes + spans.fine_bytes() / 16; }

  arena<pool_traits<Config>> spans;
  span_pool<pool_traits<Config>> pool;
};

}  // namespace heaplab::scalloc
