#include "base/fatal.h"

#include <gtest/gtest.h>

namespace heaplab {
namespace {

TEST(fatal, says_what_is_wrong_and_aborts) {
  EXPECT_EXIT(fatal("no such thing"), testing::KilledBySignal(SIGABRT), "^heaplab: no such thing\n$");
}

TEST(fatal, names_the_pointer) {
  EXPECT_EXIT(fatal("no block", reinterpret_cast<const void*>(0x1040)), testing::KilledBySignal(SIGABRT),
              "^heaplab: no block: 0x1040\n$");
}

}  // namespace
}  // namespace heaplab
