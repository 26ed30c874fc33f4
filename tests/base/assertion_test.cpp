// Every price class on, whatever the build type.
#undef HEAPLAB_ASSERTIONS
#define HEAPLAB_ASSERTIONS 2
#include "base/assertion.h"

#include <gtest/gtest.h>

namespace heaplab {
namespace {

TEST(assertion, lets_pass_what_is_true) {
  HEAPLAB_ASSERT(1 + 1 == 2);
  HEAPLAB_ASSERT_EXPENSIVE(1 + 1 == 2);
}

TEST(assertion, names_the_condition_and_the_file) {
  EXPECT_EXIT(HEAPLAB_ASSERT(1 + 1 == 3), testing::KilledBySignal(SIGABRT),
              "^heaplab: assertion failed: 1 \\+ 1 == 3 \\(.*assertion_test.cpp\\)");
  EXPECT_EXIT(HEAPLAB_ASSERT_EXPENSIVE(false), testing::KilledBySignal(SIGABRT), "assertion failed: false");
}

TEST(assertion, evaluates_the_condition_once) {
  int evaluated = 0;
  HEAPLAB_ASSERT(++evaluated == 1);
  EXPECT_EQ(evaluated, 1);
}

}  // namespace
}  // namespace heaplab
