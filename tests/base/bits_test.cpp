#include "base/bits.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace heaplab {
namespace {

TEST(bits, tells_powers_of_two) {
  EXPECT_FALSE(is_power_of_two(0));
  EXPECT_TRUE(is_power_of_two(1));
  EXPECT_FALSE(is_power_of_two(3));
  EXPECT_TRUE(is_power_of_two(SIZE_MAX / 2 + 1));
  EXPECT_FALSE(is_power_of_two(SIZE_MAX));
}

TEST(bits, finds_the_highest_set_bit) {
  EXPECT_EQ(log2_floor(1), 0U);
  EXPECT_EQ(log2_floor(2), 1U);
  EXPECT_EQ(log2_floor(3), 1U);
  EXPECT_EQ(log2_floor(4), 2U);
  EXPECT_EQ(log2_floor(SIZE_MAX), 63U);
}

TEST(bits, aligns_up_and_down_and_leaves_what_is_aligned) {
  for (const std::size_t alignment : {1U, 2U, 16U, 4096U})
    for (std::size_t value = 0; value < 3 * alignment; ++value) {
      const std::size_t up = align_up(value, alignment), down = align_down(value, alignment);
      EXPECT_EQ(up % alignment, 0U);
      EXPECT_EQ(down % alignment, 0U);
      EXPECT_LE(down, value);
      EXPECT_LE(value, up);
      EXPECT_LT(up - value, alignment);
      EXPECT_LT(value - down, alignment);
    }
}

TEST(bits, wraps_to_zero_above_the_largest_multiple) {
  EXPECT_EQ(align_up(SIZE_MAX - 15, 16), SIZE_MAX - 15);
  EXPECT_EQ(align_up(SIZE_MAX - 14, 16), 0U);
}

TEST(bits, tells_whether_an_address_is_aligned) {
  alignas(64) char place[64] = {};
  EXPECT_TRUE(is_aligned(place, 64));
  EXPECT_TRUE(is_aligned(place + 32, 32));
  EXPECT_FALSE(is_aligned(place + 32, 64));
  EXPECT_TRUE(is_aligned(place + 1, 1));
}

}  // namespace
}  // namespace heaplab
