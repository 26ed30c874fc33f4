// A sweep takes spans of which less than half is live off the fast path: their blocks go home.
#include <gtest/gtest.h>

#include <memory>

#include "concurrent/sync.h"
#include "scalloc/drained_heap.h"

namespace heaplab::scalloc::testing {
namespace {

constexpr config draining = draining_config();

class draining_test : public ::testing::Test {
protected:
  void SetUp() override {
    fake_platform::reset();
    hooked_platform::before_purge = nullptr;
    tested_ = std::make_unique<drained_heap<concurrent::std_sync, draining>>(3);
  }
  void sweep() { tested_->holes.sweep_all(); }
  void release(unsigned index) { tested_->release(0, index); }

  std::unique_ptr<drained_heap<concurrent::std_sync, draining>> tested_;
};

TEST_F(draining_test, a_freed_block_of_a_sparse_span_goes_home_and_empties_it) {
  sweep();
  ASSERT_TRUE(tested_->is_drained());
  release(0);
  EXPECT_EQ(tested_->spans_in(span_state::free), 1U);
  tested_->check_all();
}

TEST_F(draining_test, without_a_sweep_the_block_is_cached_and_keeps_its_span) {
  release(0);
  EXPECT_EQ(tested_->spans_in(span_state::free), 0U);
  tested_->check_all();
}

TEST_F(draining_test, leaves_a_span_that_is_half_live) {
  tested_ = std::make_unique<drained_heap<concurrent::std_sync, draining>>(3);
  tested_->release(0, 4), tested_->release(0, 5);  // cached: the hot span is full
  for (unsigned step = 0; step < 2; ++step) tested_->take(0);
  sweep();
  for (unsigned index = 4; index < 8; ++index)
    EXPECT_NE(tested_->life.arena.list_of(tested_->blocks[index]), 0U);
}

TEST_F(draining_test, ends_when_the_span_is_hot_again) {
  sweep();
  ASSERT_TRUE(tested_->is_drained());
  tested_->take(0);
  ASSERT_EQ(tested_->sparse().load_word(std::memory_order_seq_cst).state(), span_state::hot);
  EXPECT_FALSE(tested_->is_drained());
  tested_->check_all();
}

TEST_F(draining_test, finds_a_block_of_the_span_that_is_freed_twice) {
  tested_ = std::make_unique<drained_heap<concurrent::std_sync, draining>>(3);
  release(4);  // listed
  void* const listed = tested_->blocks[4];
  tested_->life.arena.set_list(tested_->span_of(listed), 0);
  EXPECT_DEATH(tested_->free(0, listed), "free of a block that is free already");
}

}  // namespace
}  // namespace heaplab::scalloc::testing
