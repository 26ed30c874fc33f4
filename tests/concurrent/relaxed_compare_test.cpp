#include "concurrent/relaxed_compare.h"

#include <gtest/gtest.h>

#include <cstdint>

#include "concurrent/sync.h"
#include "explore/explorer.h"

namespace heaplab::concurrent {
namespace {

template <class Sync>
class relaxed_compare_test : public testing::Test {};

// By one instruction, and by a load and a comparison.
using syncs = testing::Types<std_sync, explore::explored_sync>;
TYPED_TEST_SUITE(relaxed_compare_test, syncs);

TYPED_TEST(relaxed_compare_test, tells_what_differs) {
  const typename TypeParam::template atomic<std::uintptr_t> place{5};
  EXPECT_FALSE(differs(place, 5));
  EXPECT_TRUE(differs(place, 4));
  EXPECT_TRUE(differs(place, 6));
  EXPECT_TRUE(differs(place, 5 + (std::uintptr_t{1} << 32)));
}

TYPED_TEST(relaxed_compare_test, tells_what_exceeds) {
  const typename TypeParam::template atomic<std::uintptr_t> place{UINTPTR_MAX - 1};
  EXPECT_TRUE(exceeds(place, 0));
  EXPECT_TRUE(exceeds(place, UINTPTR_MAX - 2));
  EXPECT_FALSE(exceeds(place, UINTPTR_MAX - 1));
  EXPECT_FALSE(exceeds(place, UINTPTR_MAX));
}

}  // namespace
}  // namespace heaplab::concurrent
