// What a library of scalloc is built from: the system, its threads and atomics, and the values of a variant.
// Tests put stand-ins in their place.
#pragma once

#include <type_traits>

#include "allocators/scalloc/policy/config.h"
#include "allocators/scalloc/policy/size_classes.h"
#include "base/atomic.h"
#include "base/platform.h"
#include "concurrent/sync.h"

namespace heaplab::scalloc {

template <const config& Config>
class scalloc_heap;

template <const config& Config>
struct library_traits {
  using sync = std::conditional_t<Config.core_caches, concurrent::never_alone_sync, concurrent::std_sync>;
  using platform = system_platform;
  template <class T>
  using atomic = heaplab::atomic<T>;
  static constexpr const scalloc::config& config = Config;
  using classes = size_classes<Config>;
  // Before an operation that takes locks, by a function that the heap calls from its fast path.
  static bool ensure_open() { return scalloc_heap<Config>::ensure_open(); }
  // Called where much memory is retained. False: nobody will purge any (idle_purge.h).
  static bool ask_for_purge() { return scalloc_heap<Config>::ask_for_purge(); }
  // Whether the background purge thread purges memory. A hint.
  static bool has_purge_thread() { return scalloc_heap<Config>::has_purge_thread(); }
  // The background purge thread has work that should not wait (idle_purge.h).
  static void hurry_purge() { scalloc_heap<Config>::hurry_purge(); }
  // Called before memory grows by up to `bytes` outside the zones of spans (span_pool.h).
  static void purge_for_growth(std::size_t bytes) { scalloc_heap<Config>::purge_for_growth(bytes); }
};

}  // namespace heaplab::scalloc
