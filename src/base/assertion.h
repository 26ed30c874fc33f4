// Assertions in two price classes, chosen by HEAPLAB_ASSERTIONS (0, 1, 2; default 1 in debug builds, else
// 0).
#pragma once

#include "base/fatal.h"

#ifndef HEAPLAB_ASSERTIONS
#ifdef NDEBUG
#define HEAPLAB_ASSERTIONS 0
#else
#define HEAPLAB_ASSERTIONS 1
#endif
#endif

#define HEAPLAB_CHECK_AT_(level, condition)                                  \
  do {                                                                       \
    if constexpr (HEAPLAB_ASSERTIONS >= (level)) {                           \
      if (!(condition)) [[unlikely]]                                         \
        ::heaplab::fatal("assertion failed: " #condition " (" __FILE__ ")"); \
    }                                                                        \
  } while (false)

// On in debug builds and in the preset paranoid. The condition takes constant time.
#define HEAPLAB_ASSERT(condition) HEAPLAB_CHECK_AT_(1, condition)
// On in the preset paranoid alone. The condition may walk lists.
#define HEAPLAB_ASSERT_EXPENSIVE(condition) HEAPLAB_CHECK_AT_(2, condition)
