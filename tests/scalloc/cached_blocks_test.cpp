// Blocks of spans that are not hot are cached by the hot span, and find their way home.
#include "allocators/scalloc/frontend/cached_blocks.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <vector>

#include "concurrent/sync.h"
#include "scalloc/small_heap.h"

namespace heaplab::scalloc::testing {
namespace {

constexpr config two_cached_blocks = caching_config<4>(2, 2);
constexpr config up_to_three_cached_blocks = caching_config<4>(3, 1);

template <const config& Config>
struct caching_heap : small_heap<concurrent::std_sync, Config> {
  using base = small_heap<concurrent::std_sync, Config>;
  using base::allocate, base::base, base::front, base::labs, base::span_of;

  // Fills `spans` spans, of which the last is hot and dry.
  std::vector<void*> fill(unsigned spans) {
    std::vector<void*> blocks;
    for (unsigned step = 0; step < 4 * spans; ++step) blocks.push_back(allocate(0));
    return blocks;
  }
  span_state state_of(void* block) { return span_of(block).load_word(std::memory_order_seq_cst).state(); }
  void return_cached_blocks() { front.return_cached_blocks(*labs[0]); }
};
using heap = caching_heap<two_cached_blocks>;

TEST(cached_blocks, are_allocated_next_while_their_span_stays_what_it_is) {
  heap tested{1};
  const auto blocks = tested.fill(2);
  tested.free(0, blocks[0]);
  tested.free(0, blocks[1]);
  EXPECT_EQ(tested.span_of(blocks[0]).used(), 4);
  EXPECT_EQ(tested.span_of(blocks[4]).used(), 2);
  EXPECT_EQ(tested.allocate(0), blocks[1]);
  EXPECT_EQ(tested.allocate(0), blocks[0]);
  EXPECT_EQ(tested.span_of(blocks[4]).used(), 4);
  tested.check({blocks.begin(), blocks.end()});
}

TEST(cached_blocks, are_no_more_than_the_bound) {
  heap tested{1};
  const auto blocks = tested.fill(2);
  for (unsigned index = 0; index < 4; ++index) tested.free(0, blocks[index]);
  EXPECT_EQ(tested.span_of(blocks[0]).used(), 2);
  tested.check({blocks.begin() + 4, blocks.end()});
}

TEST(cached_blocks, come_to_no_span_that_has_free_blocks_enough) {
  heap tested{1};
  const auto blocks = tested.fill(2);
  tested.free(0, blocks[4]);
  tested.free(0, blocks[5]);
  tested.free(0, blocks[0]);
  EXPECT_EQ(tested.span_of(blocks[0]).used(), 3);
}

TEST(cached_blocks, come_from_reusable_spans_as_well) {
  heap tested{1};
  const auto blocks = tested.fill(2);
  for (const unsigned index : {4U, 5U, 0U, 1U, 2U}) tested.free(0, blocks[index]);
  ASSERT_EQ(tested.state_of(blocks[3]), span_state::reusable);
  tested.allocate(0);
  tested.free(0, blocks[3]);
  EXPECT_EQ(tested.span_of(blocks[3]).used(), 1);
}

// More cached blocks than the hot span has live blocks, whose frees pass for no double frees.
TEST(cached_blocks, leave_the_frees_of_the_hot_span_alone) {
  heap tested{1};
  const auto blocks = tested.fill(2);
  tested.free(0, blocks[0]);
  tested.free(0, blocks[1]);
  for (unsigned index = 4; index < 8; ++index) tested.free(0, blocks[index]);
  EXPECT_EQ(tested.span_of(blocks[4]).used(), -2);
  tested.check({blocks[2], blocks[3]});
}

TEST(cached_blocks, keep_their_span_from_being_returned_until_they_go_home) {
  heap tested{2};
  const auto blocks = tested.fill(2);
  tested.free(0, blocks[0]);
  tested.free(0, blocks[4]);
  tested.free(0, blocks[1]);
  for (const unsigned index : {2U, 3U}) tested.free(1, blocks[index]);
  ASSERT_NE(tested.state_of(blocks[0]), span_state::free);
  tested.return_cached_blocks();
  EXPECT_EQ(tested.state_of(blocks[0]), span_state::free);
  EXPECT_EQ(tested.span_of(blocks[4]).used(), 3);
  tested.check({blocks.begin() + 5, blocks.end()});
}

TEST(cached_blocks, go_home_when_their_thread_ends) {
  heap tested{1};
  const auto blocks = tested.fill(2);
  for (void* const block : blocks) tested.free(0, block);
  tested.end_thread(0);
  EXPECT_EQ(tested.spans_in(span_state::free), 2U);
  tested.check({});
}

TEST(cached_blocks, come_from_the_span_of_an_ended_thread_that_another_took_over) {
  heap tested{2};
  const auto blocks = tested.fill(2);
  tested.end_thread(0);
  for (unsigned index = 1; index < 4; ++index) tested.free(1, blocks[index]);
  ASSERT_EQ(tested.state_of(blocks[0]), span_state::reusable);
  for (unsigned step = 0; step < 3; ++step) tested.allocate(1);
  ASSERT_EQ(&tested.span_of(blocks[0]), tested.labs[1]->hot[heap::class_index]);
  EXPECT_TRUE(tested.front.life().is_in_page_map(tested.span_of(blocks[0])));
  bool due;
  EXPECT_TRUE(tested.front.try_deallocate(*tested.labs[1], blocks[0], due));
}

TEST(cached_blocks, come_from_spans_that_others_free_into) {
  heap tested{2};
  const auto blocks = tested.fill(2);
  tested.free(1, blocks[0]);
  tested.free(0, blocks[1]);
  EXPECT_EQ(tested.span_of(blocks[1]).used(), 4);
  EXPECT_EQ(tested.allocate(0), blocks[1]);
}

// The first span lowers the limit to 2, the second and the third to 1.
TEST(cached_blocks, are_few_where_free_spans_follow_each_other) {
  caching_heap<up_to_three_cached_blocks> tested{1};
  const auto blocks = tested.fill(3);
  for (unsigned index = 0; index < 3; ++index) tested.free(0, blocks[index]);
  EXPECT_EQ(tested.cached_of(tested.span_of(blocks[8])), 1);
  tested.check({blocks.begin() + 3, blocks.end()});
}

TEST(cached_blocks, are_many_where_a_reusable_span_follows) {
  caching_heap<up_to_three_cached_blocks> tested{1};
  const auto blocks = tested.fill(3);
  for (unsigned index = 0; index < 4; ++index) tested.free(0, blocks[index]);
  ASSERT_EQ(tested.state_of(blocks[0]), span_state::reusable);
  for (unsigned index = 0; index < 4; ++index) tested.allocate(0);
  ASSERT_EQ(tested.state_of(blocks[0]), span_state::hot);
  for (unsigned index = 4; index < 8; ++index) tested.free(0, blocks[index]);
  EXPECT_EQ(tested.cached_of(tested.span_of(blocks[0])), 3);
}

TEST(cached_blocks, are_not_freed_again) {
  heap tested{1};
  const auto blocks = tested.fill(2);
  EXPECT_DEATH((tested.free(0, blocks[0]), tested.free(0, blocks[0])), "heaplab: [^\n]*free[^\n]*: 0x");
}

// The program overwrites the marks of freed blocks.
TEST(cached_blocks, hide_no_free_too_many) {
  heap tested{1};
  const auto blocks = tested.fill(2);
  EXPECT_DEATH(
      {
        for (unsigned index = 4; index < 8; ++index) tested.free(0, blocks[index]);
        for (unsigned again = 0; again < 4; ++again)
          for (const unsigned index : {4U, 5U}) {
            static_cast<void**>(blocks[index])[1] = nullptr;
            tested.free(0, blocks[index]);
          }
      },
      "a block was freed twice");
}

TEST(cached_blocks, are_found_when_freed_again_whatever_was_freed_between) {
  heap tested{1};
  const auto blocks = tested.fill(2);
  const auto free_again = [&](std::initializer_list<unsigned> indices, unsigned again) {
    for (const unsigned index : indices) tested.free(0, blocks[index]);
    tested.free(0, blocks[again]);
  };
  EXPECT_DEATH(free_again({0, 1}, 0), "free of a block that is free already");        // cached blocks
  EXPECT_DEATH(free_again({0, 1, 2, 3}, 2), "free of a block that is free already");  // of its own span
  EXPECT_DEATH(free_again({4, 5, 6}, 4), "free of a block that is free already");     // of the hot span
}

TEST(cached_blocks, are_found_when_another_thread_was_the_first_to_free) {
  heap tested{2};
  const auto blocks = tested.fill(2);
  const auto free_again = [&] {
    for (const unsigned index : {0U, 1U}) tested.free(1, blocks[index]);
    tested.free(0, blocks[0]);
  };
  EXPECT_DEATH(free_again(), "free of a block that is free already");
}

TEST(cached_blocks, may_look_free_and_be_live) {
  heap tested{1};
  const auto blocks = tested.fill(2);
  tested.free(0, blocks[0]);
  static_cast<void**>(blocks[1])[1] = static_cast<void**>(blocks[0])[1];
  tested.free(0, blocks[1]);
  EXPECT_EQ(tested.allocate(0), blocks[1]);
  EXPECT_EQ(tested.allocate(0), blocks[0]);
  tested.check({blocks.begin(), blocks.end()});
}

}  // namespace
}  // namespace heaplab::scalloc::testing
