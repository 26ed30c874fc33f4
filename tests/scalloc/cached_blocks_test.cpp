// Blocks of spans that are not hot are cached by the hot span, and find their way home.
#include "allocators/scalloc/frontend/cached_blocks.h"

#include <gtest/gtest.h>

#include <initializer_list>

#include "concurrent/sync.h"
#include "scalloc/small_heap.h"

namespace heaplab::scalloc::testing {
namespace {

constexpr config two_cached_blocks = caching_config<4>(2, 2);
constexpr config up_to_three_cached_blocks = caching_config<4>(3, 1);

// Threads 0 and 1; thread 0 has filled some spans, of which the last is hot and dry.
template <const config& Config, unsigned Spans>
class caching_heap : public small_heap<concurrent::std_sync, Config>, public ::testing::Test {
  using base = small_heap<concurrent::std_sync, Config>;

protected:
  using base::front, base::labs;

  caching_heap() : base(2) { base::take(0, 4 * Spans); }
  void return_cached_blocks() { front.return_cached_blocks(*labs[0]); }
};
using cached_blocks_test = caching_heap<two_cached_blocks, 2>;
using cached_blocks_up_to_three = caching_heap<up_to_three_cached_blocks, 3>;

TEST_F(cached_blocks_test, are_allocated_next_while_their_span_stays_what_it_is) {
  free(0, {0, 1});
  EXPECT_EQ(span_of(blocks[0]).used(), 4);
  EXPECT_EQ(span_of(blocks[4]).used(), 2);
  EXPECT_EQ(allocate(0), blocks[1]);
  EXPECT_EQ(allocate(0), blocks[0]);
  EXPECT_EQ(span_of(blocks[4]).used(), 4);
  check({blocks.begin(), blocks.end()});
}

TEST_F(cached_blocks_test, are_no_more_than_the_bound) {
  free(0, {0, 1, 2, 3});
  EXPECT_EQ(span_of(blocks[0]).used(), 2);
  check({blocks.begin() + 4, blocks.end()});
}

TEST_F(cached_blocks_test, come_to_no_span_that_has_free_blocks_enough) {
  free(0, {4, 5, 0});
  EXPECT_EQ(span_of(blocks[0]).used(), 3);
}

TEST_F(cached_blocks_test, come_from_reusable_spans_as_well) {
  free(0, {4, 5, 0, 1, 2});
  ASSERT_EQ(state_of(blocks[3]), span_state::reusable);
  allocate(0);
  free(0, blocks[3]);
  EXPECT_EQ(span_of(blocks[3]).used(), 1);
}

// More cached blocks than the hot span has live blocks, whose frees pass for no double frees.
TEST_F(cached_blocks_test, leave_the_frees_of_the_hot_span_alone) {
  free(0, {0, 1, 4, 5, 6, 7});
  EXPECT_EQ(span_of(blocks[4]).used(), -2);
  check({blocks[2], blocks[3]});
}

TEST_F(cached_blocks_test, keep_their_span_from_being_returned_until_they_go_home) {
  free(0, {0, 4, 1});
  free(1, {2, 3});
  ASSERT_NE(state_of(blocks[0]), span_state::free);
  return_cached_blocks();
  EXPECT_EQ(state_of(blocks[0]), span_state::free);
  EXPECT_EQ(span_of(blocks[4]).used(), 3);
  check({blocks.begin() + 5, blocks.end()});
}

TEST_F(cached_blocks_test, go_home_when_their_thread_ends) {
  for (void* const block : blocks) free(0, block);
  end_thread(0);
  EXPECT_EQ(spans_in(span_state::free), 2U);
  check({});
}

TEST_F(cached_blocks_test, come_from_the_span_of_an_ended_thread_that_another_took_over) {
  end_thread(0);
  free(1, {1, 2, 3});
  ASSERT_EQ(state_of(blocks[0]), span_state::reusable);
  for (unsigned step = 0; step < 3; ++step) allocate(1);
  ASSERT_EQ(&span_of(blocks[0]), labs[1]->hot[class_index]);
  EXPECT_TRUE(front.life().is_in_page_map(span_of(blocks[0])));
  bool due;
  EXPECT_TRUE(front.try_deallocate(*labs[1], blocks[0], due));
}

TEST_F(cached_blocks_test, come_from_spans_that_others_free_into) {
  free(1, blocks[0]);
  free(0, blocks[1]);
  EXPECT_EQ(span_of(blocks[1]).used(), 4);
  EXPECT_EQ(allocate(0), blocks[1]);
}

// The first span lowers the limit to 2, the second and the third to 1.
TEST_F(cached_blocks_up_to_three, are_few_where_free_spans_follow_each_other) {
  free(0, {0, 1, 2});
  EXPECT_EQ(cached_of(span_of(blocks[8])), 1);
  check({blocks.begin() + 3, blocks.end()});
}

TEST_F(cached_blocks_up_to_three, are_many_where_a_reusable_span_follows) {
  free(0, {0, 1, 2, 3});
  ASSERT_EQ(state_of(blocks[0]), span_state::reusable);
  for (unsigned index = 0; index < 4; ++index) allocate(0);
  ASSERT_EQ(state_of(blocks[0]), span_state::hot);
  free(0, {4, 5, 6, 7});
  EXPECT_EQ(cached_of(span_of(blocks[0])), 3);
}

TEST_F(cached_blocks_test, are_not_freed_again) {
  EXPECT_DEATH((free(0, blocks[0]), free(0, blocks[0])), "heaplab: [^\n]*free[^\n]*: 0x");
}

// The program overwrites the marks of freed blocks.
TEST_F(cached_blocks_test, hide_no_free_too_many) {
  EXPECT_DEATH(
      {
        free(0, {4, 5, 6, 7});
        for (unsigned again = 0; again < 4; ++again)
          for (const unsigned index : {4U, 5U}) {
            static_cast<void**>(blocks[index])[1] = nullptr;
            free(0, blocks[index]);
          }
      },
      "a block was freed twice");
}

TEST_F(cached_blocks_test, are_found_when_freed_again_whatever_was_freed_between) {
  const auto free_again = [&](std::initializer_list<unsigned> indices, unsigned again) {
    free(0, indices);
    free(0, blocks[again]);
  };
  EXPECT_DEATH(free_again({0, 1}, 0), "free of a block that is free already");        // cached blocks
  EXPECT_DEATH(free_again({0, 1, 2, 3}, 2), "free of a block that is free already");  // of its own span
  EXPECT_DEATH(free_again({4, 5, 6}, 4), "free of a block that is free already");     // of the hot span
}

TEST_F(cached_blocks_test, are_found_when_another_thread_was_the_first_to_free) {
  const auto free_again = [&] {
    free(1, {0, 1});
    free(0, blocks[0]);
  };
  EXPECT_DEATH(free_again(), "free of a block that is free already");
}

TEST_F(cached_blocks_test, are_found_in_the_lists_of_an_orphan) {
  end_thread(0);
  free(1, {0, 1});
  auto& orphan = span_of(blocks[0]);
  ASSERT_EQ(orphan.owner(std::memory_order_relaxed), &front.orphanage());
  static_cast<void**>(blocks[2])[1] = static_cast<void**>(blocks[0])[1];
  EXPECT_TRUE(front.is_free_already(front.orphanage(), orphan, blocks[0]));
  EXPECT_FALSE(front.is_free_already(front.orphanage(), orphan, blocks[2])) << "looks free and is live";
}

TEST_F(cached_blocks_test, may_look_free_and_be_live) {
  free(0, blocks[0]);
  static_cast<void**>(blocks[1])[1] = static_cast<void**>(blocks[0])[1];
  free(0, blocks[1]);
  EXPECT_EQ(allocate(0), blocks[1]);
  EXPECT_EQ(allocate(0), blocks[0]);
  check({blocks.begin(), blocks.end()});
}

}  // namespace
}  // namespace heaplab::scalloc::testing
