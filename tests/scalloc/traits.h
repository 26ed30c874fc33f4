// What the parts of scalloc are made of, with settings of the test's own.
#pragma once

#include "allocators/scalloc/policy/size_classes.h"
#include "base/platform.h"

namespace heaplab::scalloc {

template <class Sync, const config& Config, class Platform = system_platform>
struct test_traits {
  using sync = Sync;
  using platform = Platform;
  template <class T>
  using atomic = typename Sync::template atomic<T>;
  static constexpr const scalloc::config& config = Config;
  using classes = size_classes<Config>;
  // A platform may say that the background purge thread is there.
  static bool has_purge_thread() {
    if constexpr (requires { Platform::has_purge_thread; }) return Platform::has_purge_thread;
    return false;
  }
  static bool ask_for_purge() { return has_purge_thread(); }
  static void hurry_purge() {}
  static void purge_for_growth(std::size_t) {}
};

}  // namespace heaplab::scalloc
