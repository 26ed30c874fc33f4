// What every variant does alike, in one thread.
#include <sys/resource.h>

#include <cstdint>
#include <cstring>
#include <vector>

#include "heaps.h"

namespace heaplab::llheap {
namespace {

template <class Heap>
class heap_test : public testing::Test {};
TYPED_TEST_SUITE(heap_test, all_heaps);

TYPED_TEST(heap_test, sizes_around_every_boundary_are_usable_to_the_last_byte) {
  std::vector<std::pair<void*, std::size_t>> live;
  for (std::size_t bucket = 0; bucket_bytes(bucket) <= 2 * mib; ++bucket)
    for (std::size_t size : {bucket_bytes(bucket) - 1, bucket_bytes(bucket), bucket_bytes(bucket) + 1}) {
      void* const block = TypeParam::allocate(size);
      ASSERT_NE(block, nullptr);
      ASSERT_TRUE(is_aligned(block, 16));
      ASSERT_GE(TypeParam::usable_size(block), size);
      ASSERT_EQ(TypeParam::request_size(block), size);
      std::memset(block, static_cast<int>(live.size()), TypeParam::usable_size(block));
      live.emplace_back(block, TypeParam::usable_size(block));
    }
  for (std::size_t i = 0; i < live.size(); ++i) {
    ASSERT_EQ(bytes(live[i].first)[0], i % 256);
    ASSERT_EQ(bytes(live[i].first)[live[i].second - 1], i % 256);
    TypeParam::deallocate(live[i].first);
  }
}

TYPED_TEST(heap_test, nothing_is_a_block_of_its_own) {
  void* const memory = TypeParam::allocate(0);
  void* const two = TypeParam::allocate(0);
  EXPECT_NE(memory, nullptr);
  EXPECT_NE(memory, two);
  TypeParam::deallocate(memory);
  TypeParam::deallocate(two);
}

TYPED_TEST(heap_test, more_than_there_is_is_refused) {
  for (std::size_t size : {std::size_t{PTRDIFF_MAX}, std::size_t{PTRDIFF_MAX} + 1, SIZE_MAX}) {
    EXPECT_EQ(TypeParam::allocate(size), nullptr);
    EXPECT_EQ(TypeParam::allocate_zeroed(size), nullptr);
    EXPECT_EQ(TypeParam::allocate_aligned(64, size), nullptr);
    EXPECT_EQ(TypeParam::allocate_aligned_zeroed(4096, size), nullptr);
  }
  EXPECT_EQ(TypeParam::allocate_aligned(std::size_t{1} << 63, 1), nullptr);
  EXPECT_EQ(TypeParam::allocate_aligned(std::size_t{1} << 62, 1), nullptr);
}

TYPED_TEST(heap_test, a_freed_block_is_the_next_of_its_size) {
  void* const block = TypeParam::allocate(100);
  TypeParam::deallocate(block);
  EXPECT_EQ(TypeParam::allocate(112), block);
  TypeParam::deallocate(block);
}

TYPED_TEST(heap_test, zeroed_blocks_are_zero_whatever_was_there_before) {
  for (std::size_t size : {1UL, 100UL, 1000UL, 5000UL, 40'000UL, 2 * mib}) {
    void* const dirty = TypeParam::allocate(size);
    std::memset(dirty, 1, TypeParam::usable_size(dirty));
    TypeParam::deallocate(dirty);
    void* const block = TypeParam::allocate_zeroed(size);
    EXPECT_TRUE(all_zero(block, 0, TypeParam::usable_size(block))) << size;
    EXPECT_TRUE(TypeParam::is_zero_filled(block));
    std::memset(block, 1, size);
    TypeParam::deallocate(block);
    void* const again = TypeParam::allocate(size);
    EXPECT_FALSE(TypeParam::is_zero_filled(again));
    TypeParam::deallocate(again);
  }
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // their shadow memory faults too
// Reading memory never written shows the system's page of zeros, and the write to that page which follows is
// a second fault.
TYPED_TEST(heap_test, small_zeroed_blocks_cost_one_fault_a_page_though_read_first) {
  const auto faults = [] {
    rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return static_cast<std::size_t>(usage.ru_minflt);
  };
  std::vector<void*> live(20'000);
  const std::size_t before = faults();
  for (void*& block : live) {
    block = TypeParam::allocate_zeroed(400);
    ASSERT_TRUE(all_zero(block, 0, 400));
  }
  const std::size_t pages = live.size() * 400 / 4096;
  EXPECT_LT(faults() - before, pages * 3 / 2);
  for (void* block : live) TypeParam::deallocate(block);
}
#endif

TYPED_TEST(heap_test, every_alignment_holds_and_is_remembered) {
  for (std::size_t alignment = 1; alignment <= 4 * mib; alignment *= 2)
    for (std::size_t size : {0UL, 1UL, 48UL, 1000UL, 100'000UL}) {
      void* const block = TypeParam::allocate_aligned(alignment, size);
      ASSERT_NE(block, nullptr);
      ASSERT_TRUE(is_aligned(block, std::max<std::size_t>(alignment, 16)));
      ASSERT_EQ(TypeParam::alignment(block), std::max<std::size_t>(alignment, 16));
      ASSERT_EQ(TypeParam::request_size(block), size);
      ASSERT_GE(TypeParam::usable_size(block), size);
      std::memset(block, 7, TypeParam::usable_size(block));
      TypeParam::deallocate(block);
      void* const zero = TypeParam::allocate_aligned_zeroed(alignment, size);
      ASSERT_TRUE(is_aligned(zero, alignment));
      ASSERT_TRUE(all_zero(zero, 0, TypeParam::usable_size(zero)));
      ASSERT_TRUE(TypeParam::is_zero_filled(zero));
      TypeParam::deallocate(zero);
    }
}

TYPED_TEST(heap_test, usable_size_only_looks) {
  void* const block = TypeParam::allocate(100);
  EXPECT_GT(TypeParam::usable_size(block), 100U);
  EXPECT_EQ(TypeParam::request_size(block), 100U);
  TypeParam::deallocate(block);
}

TYPED_TEST(heap_test, a_double_free_is_fatal) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  void* const small = TypeParam::allocate(100);
  void* const aligned = TypeParam::allocate_aligned(4096, 100);
  TypeParam::deallocate(small);
  TypeParam::deallocate(aligned);
  EXPECT_DEATH(TypeParam::deallocate(small), "double free: 0x");
  EXPECT_DEATH(TypeParam::deallocate(aligned), "double free: 0x");
}

TYPED_TEST(heap_test, a_pointer_out_of_line_is_fatal) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  char* const block = static_cast<char*>(TypeParam::allocate(100));
  std::memset(block, 0xff, 100);
  EXPECT_DEATH(TypeParam::deallocate(block + 24), "llheap: ");
  TypeParam::deallocate(block);
}

TYPED_TEST(heap_test, nothing_is_given_back) {
  EXPECT_FALSE(TypeParam::trim(0));
}

}  // namespace
}  // namespace heaplab::llheap
