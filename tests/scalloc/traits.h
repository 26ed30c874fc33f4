// What the parts of scalloc are made of, with settings of the test's own.
#pragma once

#include "allocators/scalloc/size_classes.h"

namespace heaplab::scalloc {

template <class Sync, const config& Config>
struct test_traits {
  using sync = Sync;
  template <class T>
  using atomic = typename Sync::template atomic<T>;
  static constexpr const config& settings = Config;
  using classes = size_classes<Config>;
};

}  // namespace heaplab::scalloc
