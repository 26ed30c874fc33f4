// Every price class on, whatever the build type.
#undef HEAPLAB_ASSERTIONS
#define HEAPLAB_ASSERTIONS 2
#include "base/narrow.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace heaplab {
namespace {

TEST(narrow, keeps_the_value) {
  EXPECT_EQ(narrow<std::uint32_t>(std::size_t{UINT32_MAX}), UINT32_MAX);
  EXPECT_EQ(narrow<std::int32_t>(std::ptrdiff_t{INT32_MIN}), INT32_MIN);
  static_assert(narrow<std::uint8_t>(255UL) == 255);
}

TEST(narrow, refuses_a_value_that_does_not_fit) {
  constexpr std::size_t far = std::size_t{4} << 30;
  EXPECT_EXIT(narrow<std::uint32_t>(far), testing::KilledBySignal(SIGABRT), "assertion failed");
  EXPECT_EXIT(narrow<std::int32_t>(far / 2), testing::KilledBySignal(SIGABRT), "assertion failed");
  EXPECT_EXIT(narrow<std::uint32_t>(std::ptrdiff_t{-1}), testing::KilledBySignal(SIGABRT),
              "assertion failed");
}

TEST(narrow, low_bits_are_those_of_the_value) {
  EXPECT_EQ(low_bits<std::uint16_t>(0x1'2345UL), 0x2345);
  EXPECT_EQ(low_bits<std::uint32_t>(-1), UINT32_MAX);
}

}  // namespace
}  // namespace heaplab
