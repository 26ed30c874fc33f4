// Assertions in two price classes, chosen by HEAPLAB_ASSERTIONS (0, 1, 2; default 1 in debug builds, else
// 0).
#pragma once

#include <type_traits>

#include "base/fatal.h"

#ifndef HEAPLAB_ASSERTIONS
#ifdef NDEBUG
#define HEAPLAB_ASSERTIONS 0
#else
#define HEAPLAB_ASSERTIONS 1
#endif
#endif

namespace heaplab {

// The number of assertions that this thread is evaluating. Their reads are no steps of the program: the
// explorer of interleavings (tests/explore) lets no other thread run in between.
inline constinit thread_local unsigned assertions_under_way = 0;

class assertion_under_way {
public:
  constexpr assertion_under_way() { add(1); }
  constexpr ~assertion_under_way() { add(-1U); }
  assertion_under_way(const assertion_under_way&) = delete;
  assertion_under_way& operator=(const assertion_under_way&) = delete;

private:
  static constexpr void add(unsigned count) {
    if (!std::is_constant_evaluated()) assertions_under_way += count;
  }
};

}  // namespace heaplab

#define HEAPLAB_CHECK_AT_(level, condition)                                  \
  do {                                                                       \
    if constexpr (HEAPLAB_ASSERTIONS >= (level)) {                           \
      const ::heaplab::assertion_under_way evaluates_assertion;              \
      if (!(condition)) [[unlikely]]                                         \
        ::heaplab::fatal("assertion failed: " #condition " (" __FILE__ ")"); \
    }                                                                        \
  } while (false)

// On in debug builds and in the preset paranoid. The condition takes constant time.
#define HEAPLAB_ASSERT(condition) HEAPLAB_CHECK_AT_(1, condition)
// On in the preset paranoid alone. The condition may walk lists.
#define HEAPLAB_ASSERT_EXPENSIVE(condition) HEAPLAB_CHECK_AT_(2, condition)
