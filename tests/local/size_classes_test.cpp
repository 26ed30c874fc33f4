#include "heaplab/local/size_classes.h"

#include <gtest/gtest.h>

namespace heaplab::local {
namespace {

using quarters = size_classes<pool_layout{}>;
using doubling = size_classes<pool_layout{.largest_block = 4096, .steps_per_doubling = 1}>;

template <class Classes>
class size_classes_test : public testing::Test {};
using layouts = testing::Types<quarters, doubling, size_classes<pool_layout{1024, 2}>,
                               size_classes<pool_layout{8192, 16}>>;
TYPED_TEST_SUITE(size_classes_test, layouts);

TYPED_TEST(size_classes_test, the_class_of_a_size_is_the_smallest_that_fits) {
  const std::size_t largest = TypeParam::size_of(TypeParam::count - 1);
  for (std::size_t bytes = 1; bytes <= largest; ++bytes) {
    const std::size_t index = TypeParam::index_of_last(bytes - 1);
    ASSERT_LT(index, TypeParam::count) << bytes;
    ASSERT_GE(TypeParam::size_of(index), bytes);
    ASSERT_TRUE(index == 0 || TypeParam::size_of(index - 1) < bytes) << bytes;
  }
}

TYPED_TEST(size_classes_test, a_size_rounded_up_to_its_alignment_has_a_class_that_is_a_multiple_of_it) {
  const std::size_t largest = TypeParam::size_of(TypeParam::count - 1);
  for (std::size_t alignment = 1; alignment <= 64; alignment *= 2) {
    for (std::size_t bytes = 1; bytes <= largest; ++bytes) {
      const std::size_t index = TypeParam::index_of_last((bytes - 1) | (alignment - 1));
      ASSERT_LT(index, TypeParam::count) << bytes;
      ASSERT_EQ(TypeParam::size_of(index) % alignment, 0) << bytes << " aligned to " << alignment;
    }
  }
}

TEST(size_classes, one_step_a_doubling_is_the_layout_of_the_papers) {
  static_assert(doubling::count == 10);
  for (std::size_t index = 0; index < doubling::count; ++index) {
    EXPECT_EQ(doubling::size_of(index), std::size_t{8} << index);
  }
}

TEST(size_classes, four_steps_a_doubling_leave_less_than_a_fifth_of_a_block_unused) {
  static_assert(quarters::count == 32);
  static_assert(quarters::size_of(31) == 4096);
  for (std::size_t bytes = 32; bytes <= 4096; ++bytes) {
    const std::size_t size = quarters::size_of(quarters::index_of_last(bytes - 1));
    EXPECT_LT(5 * (size - bytes), size) << bytes;
  }
}

}  // namespace
}  // namespace heaplab::local
