#include <cstring>

#include "heaps.h"

namespace heaplab::llheap {
namespace {

template <class Heap>
class resizing_test : public testing::Test {};
TYPED_TEST_SUITE(resizing_test, all_heaps);

constexpr std::size_t sizes[] = {1, 16, 100, 1000, 5000, 60'000, 900'000, 3'000'000};

TYPED_TEST(resizing_test, contents_survive_every_change_of_size) {
  for (std::size_t from : sizes)
    for (std::size_t to : sizes) {
      void* block = TypeParam::allocate(from);
      for (std::size_t i = 0; i < from; ++i) bytes(block)[i] = static_cast<unsigned char>(i * 7 + 1);
      block = TypeParam::reallocate(block, to);
      ASSERT_EQ(TypeParam::request_size(block), to);
      for (std::size_t i = 0; i < std::min(from, to); ++i)
        ASSERT_EQ(bytes(block)[i], static_cast<unsigned char>(i * 7 + 1)) << from << " to " << to;
      TypeParam::deallocate(block);
    }
}

TYPED_TEST(resizing_test, what_usable_size_promised_survives_too) {
  void* block = TypeParam::allocate(2050);
  const std::size_t usable = TypeParam::usable_size(block);
  ASSERT_GT(usable, 2050U);
  std::memset(block, 3, usable);
  block = TypeParam::reallocate(block, 3 * usable);
  EXPECT_EQ(bytes(block)[usable - 1], 3);
  TypeParam::deallocate(block);
}

TYPED_TEST(resizing_test, zero_fill_sticks_through_growth_in_place_and_elsewhere) {
  for (std::size_t from : sizes)
    for (std::size_t to : sizes) {
      void* block = TypeParam::allocate_zeroed(from);
      std::memset(block, 9, from);
      block = TypeParam::reallocate(block, to);
      ASSERT_TRUE(TypeParam::is_zero_filled(block));
      ASSERT_TRUE(all_zero(block, std::min(from, to), to)) << from << " to " << to;
      block = TypeParam::reallocate(block, to + to / 2);
      ASSERT_TRUE(all_zero(block, std::min(from, to), to + to / 2)) << from << " to " << to;
      TypeParam::deallocate(block);
    }
}

TYPED_TEST(resizing_test, shrinking_forgets_what_it_cuts_off_a_zero_filled_block) {
  void* block = TypeParam::allocate_zeroed(1000);
  std::memset(block, 9, 1000);
  block = TypeParam::reallocate(block, 600);
  block = TypeParam::reallocate(block, 1000);
  EXPECT_TRUE(all_zero(block, 600, 1000));
  TypeParam::deallocate(block);
}

TYPED_TEST(resizing_test, alignment_sticks) {
  for (std::size_t to : sizes) {
    void* block = TypeParam::allocate_aligned(8192, 100);
    std::memset(block, 5, 100);
    block = TypeParam::reallocate(block, to);
    ASSERT_TRUE(is_aligned(block, 8192));
    ASSERT_EQ(TypeParam::alignment(block), 8192U);
    ASSERT_EQ(bytes(block)[0], 5);
    TypeParam::deallocate(block);
  }
}

TYPED_TEST(resizing_test, a_new_alignment_replaces_the_old_one) {
  void* block = TypeParam::allocate_zeroed(100);
  std::memset(block, 5, 100);
  for (std::size_t alignment : {64UL, 4096UL, 1UL, 65536UL, 32UL}) {
    block = TypeParam::reallocate_aligned(block, alignment, 200);
    ASSERT_TRUE(is_aligned(block, alignment));
    ASSERT_EQ(TypeParam::alignment(block), std::max<std::size_t>(alignment, 16));
    ASSERT_TRUE(TypeParam::is_zero_filled(block));
    ASSERT_EQ(bytes(block)[99], 5);
    ASSERT_TRUE(all_zero(block, 100, 200));
  }
  TypeParam::deallocate(block);
}

TYPED_TEST(resizing_test, resize_keeps_nothing_that_sticks) {
  for (std::size_t to : sizes) {
    void* const block = TypeParam::resize(TypeParam::allocate_aligned_zeroed(4096, 1000), to);
    ASSERT_GE(TypeParam::usable_size(block), to);
    EXPECT_EQ(TypeParam::request_size(block), to);
    EXPECT_EQ(TypeParam::alignment(block), 16U);
    EXPECT_FALSE(TypeParam::is_zero_filled(block));
    TypeParam::deallocate(block);
  }
}

TYPED_TEST(resizing_test, resize_stays_where_it_fits) {
  void* const block = TypeParam::allocate(1000);
  EXPECT_EQ(TypeParam::resize(block, 600), block);
  EXPECT_EQ(TypeParam::resize(block, 1000), block);
  void* const aligned = TypeParam::resize_aligned(block, 4096, 1000);
  EXPECT_TRUE(is_aligned(aligned, 4096));
  EXPECT_EQ(TypeParam::resize_aligned(aligned, 256, 900), aligned);
  EXPECT_EQ(TypeParam::alignment(aligned), 256U);
  TypeParam::deallocate(aligned);
}

TYPED_TEST(resizing_test, reallocate_stays_within_a_bucket_and_leaves_a_block_half_empty) {
  void* small = TypeParam::allocate(16);
  EXPECT_EQ(TypeParam::reallocate(small, 1), small);
  void* large = TypeParam::allocate(100'000);
  EXPECT_EQ(TypeParam::reallocate(large, 60'000), large);
  void* const moved = TypeParam::reallocate(large, 100);
  EXPECT_LT(TypeParam::usable_size(moved), 200U);
  TypeParam::deallocate(moved);
  TypeParam::deallocate(small);
}

TYPED_TEST(resizing_test, a_failure_leaves_the_block_alone) {
  void* const block = TypeParam::allocate_aligned(64, 100);
  std::memset(block, 5, 100);
  EXPECT_EQ(TypeParam::reallocate(block, PTRDIFF_MAX), nullptr);
  EXPECT_EQ(TypeParam::reallocate_aligned(block, 16, PTRDIFF_MAX), nullptr);
  EXPECT_EQ(TypeParam::alignment(block), 64U);
  EXPECT_EQ(TypeParam::request_size(block), 100U);
  EXPECT_EQ(bytes(block)[99], 5);
  TypeParam::deallocate(block);
}

TEST(resizing, a_mapping_grows_and_shrinks_with_its_contents) {
  void* block = small_heap::allocate_zeroed(3 * mib);
  const heap_statistics before = small_heap::statistics();
  bytes(block)[3 * mib - 1] = 4;
  block = small_heap::reallocate(block, 40 * mib);
  EXPECT_EQ(bytes(block)[3 * mib - 1], 4);
  EXPECT_TRUE(all_zero(block, 3 * mib, 40 * mib));
  EXPECT_EQ(small_heap::statistics().mapped, before.mapped + 37 * mib);
  block = small_heap::reallocate(block, 2 * mib);
  EXPECT_EQ(small_heap::statistics().mapped, before.mapped - mib);
  EXPECT_EQ(small_heap::statistics().mappings, before.mappings);
  small_heap::deallocate(block);
  EXPECT_EQ(small_heap::statistics().mappings, before.mappings - 1);
}

}  // namespace
}  // namespace heaplab::llheap
