// Where the system refuses a call: what cannot be had is null, and what was there stays whole.
#include <cstring>

#include "heaps.h"
#include "support/fake_platform.h"

namespace heaplab::llheap {
namespace {

using refused_heap = heap_for<plain, small_policy, fake_platform>;

class refusals : public ::testing::Test {
protected:
  refusals() { fake_platform::reset(); }
  ~refusals() override { fake_platform::reset(); }
};

TEST_F(refusals, a_mapped_block_that_cannot_be_had_is_null) {
  const heap_statistics before = refused_heap::statistics();
  fake_platform::refused_allocations = 2;  // before and after the freed headers have gone back
  EXPECT_EQ(refused_heap::allocate(2 * mib), nullptr);
  EXPECT_EQ(refused_heap::statistics().mapped, before.mapped);
  EXPECT_EQ(refused_heap::statistics().mappings, before.mappings);
}

TEST_F(refusals, headers_of_freed_blocks_go_back_where_a_mapping_is_refused) {
  for (int i = 0; i < 4; ++i) refused_heap::deallocate(refused_heap::allocate(2 * mib));
  fake_platform::unmaps = 0;
  fake_platform::refused_allocations = 1;
  void* const block = refused_heap::allocate(2 * mib);
  EXPECT_NE(block, nullptr);
  EXPECT_GE(fake_platform::unmaps, 4U);
  refused_heap::deallocate(block);
}

TEST_F(refusals, a_mapped_block_that_cannot_be_resized_is_copied) {
  unsigned char* const block = bytes(refused_heap::allocate(2 * mib));
  std::memset(block, 7, 2 * mib);
  fake_platform::refused_remaps = 1;
  unsigned char* const moved = bytes(refused_heap::reallocate(block, 4 * mib));
  ASSERT_NE(moved, nullptr);
  EXPECT_NE(moved, block);
  EXPECT_EQ(moved[0], 7);
  EXPECT_EQ(moved[2 * mib - 1], 7);
  refused_heap::deallocate(moved);
}

TEST_F(refusals, a_mapped_block_that_can_be_neither_resized_nor_copied_stays) {
  unsigned char* const block = bytes(refused_heap::allocate(2 * mib));
  std::memset(block, 7, 2 * mib);
  fake_platform::refused_remaps = 1;
  fake_platform::refused_allocations = 2;
  EXPECT_EQ(refused_heap::reallocate(block, 4 * mib), nullptr);
  EXPECT_EQ(block[2 * mib - 1], 7);
  refused_heap::deallocate(block);
}

TEST_F(refusals, pages_that_the_system_does_not_take_back_serve_the_next_block) {
  void* const block = refused_heap::allocate(3 * mib);
  std::memset(block, 7, 3 * mib);
  fake_platform::refused_unmaps = 1;
  refused_heap::deallocate(block);
  unsigned char* const next = bytes(refused_heap::allocate_zeroed(3 * mib));
  EXPECT_EQ(next, block);
  EXPECT_TRUE(all_zero(next, 0, 3 * mib));
  refused_heap::deallocate(next);
}

TEST_F(refusals, an_area_is_halved_until_the_system_has_one) {
  shared_storage<fake_platform> storage{limits_of(plain)};
  storage.start({16 * mib, 64 * kib, mib, 1});
  fake_platform::refused_reservations = 2;
  EXPECT_NE(storage.carve(kib).start, nullptr);
  EXPECT_EQ(storage.counts().area_bytes, 4 * mib);
}

TEST_F(refusals, a_thread_without_a_heap_gets_no_block_and_a_heap_later) {
  struct fresh : small_policy {};
  using other = heap_for<plain, fresh, fake_platform>;
  fake_platform::refused_allocations = 1;  // the chunk of heaps
  EXPECT_EQ(other::allocate(100), nullptr);
  EXPECT_NE(other::allocate(100), nullptr);
}

}  // namespace
}  // namespace heaplab::llheap
