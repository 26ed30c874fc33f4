// What a library of scalloc is built from: the system, its threads and atomics, and the values of a variant.
// Tests put stand-ins in their place. scalloc_heap.h adds what the parts of the heap ask of the whole.
#pragma once

#include <type_traits>

#include "allocators/scalloc/policy/config.h"
#include "allocators/scalloc/policy/size_classes.h"
#include "base/atomic.h"
#include "base/platform.h"
#include "concurrent/sync.h"

namespace heaplab::scalloc {

template <const config& Config>
struct library_traits {
  using sync = std::conditional_t<Config.core_caches, concurrent::never_alone_sync, concurrent::std_sync>;
  using platform = system_platform;
  template <class T>
  using atomic = heaplab::atomic<T>;
  static constexpr const scalloc::config& config = Config;
  using classes = size_classes<Config>;
};

}  // namespace heaplab::scalloc
