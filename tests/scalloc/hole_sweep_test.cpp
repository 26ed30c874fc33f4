// Whole free pages inside spans in use: which go back, and that every block is there again afterwards, once.
#include "allocators/scalloc/idle/hole_sweep.h"

#include <gtest/gtest.h>

#include <cstring>

#include "allocators/scalloc/policy/variants.h"
#include "base/os_pages.h"
#include "concurrent/sync.h"
#include "scalloc/sweep_of.h"

namespace heaplab::scalloc::testing {
namespace {

constexpr config many_blocks = paged_config<64>();
constexpr config block_is_page = paged_config<4>();
constexpr config many_blocks_and_a_listed_one = [] {
  config result = many_blocks;
  result.most_cached = result.fewest_cached = 1;
  return result;
}();
// Blocks of four pages, 64 to a span: a record has no room to name the pages.
constexpr config many_pages = [] {
  config result = small_config<64>();
  result.arena_bytes = 64 * mib;
  result.fine_span_bytes = result.coarse_span_bytes = 1 * mib;
  result.fine_block_limit = result.span_block_limit = 16 * kib;
  result.purges_holes = true;
  return result;
}();

using hole_sweep_test = sweep_of<many_blocks>;

TEST_F(hole_sweep_test, holes_are_purged_but_for_the_first_blocks_page) {
  start(65, 48);  // the second span is hot; the last freed, 47, lies in the third page
  EXPECT_EQ(tested_->holes.returnable_bytes(), 2 * os_pages::page_bytes());
  EXPECT_TRUE(tested_->holes.sweep_all());
  EXPECT_EQ(tested_->holes.returnable_bytes(), 0U);
  EXPECT_EQ(holes_around(0), 0b0011U);
  EXPECT_EQ(pages_with_memory(0), 2U);
  tested_->check_all();
}

TEST_F(hole_sweep_test, holes_need_whole_pages_of_free_blocks) {
  tested_->fill(65);
  release(1, 16), release(17, 32), release(33, 47);
  EXPECT_EQ(tested_->holes.returnable_bytes(), 0U);
  EXPECT_FALSE(tested_->holes.sweep_all());
  EXPECT_EQ(pages_with_memory(0), 4U);
  tested_->check_all();
}

TEST_F(hole_sweep_test, holes_are_filled_again_with_every_block_once) {
  tested_->fill(129);
  release(0, 60), release(64, 120);
  EXPECT_TRUE(tested_->holes.sweep_all());
  EXPECT_EQ(pages_with_memory(0), 1U);
  for (unsigned step = 0; step < 63 + 60 + 56; ++step) tested_->take(0);
  expect_spans_in_use(3);
  EXPECT_EQ(holes_around(0) | holes_around(64), 0U);
  tested_->check_all();
}

// Of the blocks that others freed, few or most of the span.
TEST_F(hole_sweep_test, holes_hold_blocks_that_other_threads_freed) {
  for (const unsigned by_others : {20, 40}) {
    SetUp();
    tested_->fill(65);
    release(0, by_others, 1), release(by_others, 48);
    EXPECT_TRUE(tested_->holes.sweep_all());
    EXPECT_NE(holes_around(0), 0U);
    for (unsigned step = 0; step < 63 + 48; ++step) tested_->take(0);
    expect_spans_in_use(2);
    tested_->check_all();
  }
}

// The hot span has no listed block any more, but holes.
TEST_F(hole_sweep_test, holes_of_a_thread_that_ends_keep_their_count) {
  start(128, 48);
  EXPECT_TRUE(tested_->holes.sweep_all());
  tested_->fill(16);
  ASSERT_NE(holes_around(0), 0U);
  tested_->end_thread(0);
  release(48, 64, 1), release(128, 144, 1);
  EXPECT_EQ(tested_->spans_in(span_state::free), 1U);
  tested_->check_all();
}

TEST_F(hole_sweep_test, holes_of_a_span_that_becomes_free_are_forgotten) {
  start(65, 48);
  EXPECT_TRUE(tested_->holes.sweep_all());
  release(48, 64);
  EXPECT_EQ(tested_->spans_in(span_state::free), 1U);
  for (unsigned step = 0; step < 63 + 64; ++step) tested_->take(0);
  tested_->check_all();
}

TEST_F(hole_sweep_test, holes_are_looked_for_once_until_the_span_changes) {
  start(65, 32);
  EXPECT_TRUE(tested_->holes.sweep_all());
  EXPECT_FALSE(tested_->holes.sweep_all());
  release(32, 48);
  EXPECT_TRUE(tested_->holes.sweep_all());
  EXPECT_EQ(pages_with_memory(0), 2U);
  tested_->check_all();
}

// A program that writes to a freed block damages the list.
TEST_F(hole_sweep_test, holes_are_left_alone_where_a_list_is_damaged) {
  start(65, 48);
  std::memset(tested_->blocks[20], 0x5a, 16);
  EXPECT_FALSE(tested_->holes.sweep_all());
  EXPECT_EQ(pages_with_memory(0), 4U);
}

TEST_F(hole_sweep_test, holes_are_left_alone_where_a_list_runs_in_a_circle) {
  start(65, 48);
  std::memcpy(tested_->blocks[20], &tested_->blocks[40], sizeof(void*));
  EXPECT_FALSE(tested_->holes.sweep_all());
  EXPECT_EQ(pages_with_memory(0), 4U);
}

// Only the background purge thread waits for spans to be quiet.
TEST_F(hole_sweep_test, holes_of_quiet_spans_are_purged_at_the_second_look) {
  tested_->fill(129);
  release(0, 48), release(64, 112);
  std::int64_t now = 1'000'000;
  tested_->holes.sweep_quiet(now);
  EXPECT_EQ(pages_with_memory(0), 4U);
  tested_->release(0, 48);  // the first span changes
  tested_->holes.sweep_quiet(now + many_blocks.decay_milliseconds - 1);
  EXPECT_EQ(pages_with_memory(64), 4U) << "too early";
  tested_->holes.sweep_quiet(now += many_blocks.decay_milliseconds);
  EXPECT_EQ(pages_with_memory(0), 4U);
  EXPECT_EQ(pages_with_memory(64), 2U);
  tested_->holes.sweep_quiet(now += many_blocks.decay_milliseconds);
  EXPECT_EQ(pages_with_memory(0), 1U);
  tested_->check_all();
}

// While the pages go back, nobody takes blocks from the span.
TEST_F(hole_sweep_test, holes_are_purged_while_the_owner_allocates) {
  start(128, 48);
  bool called = false;
  sweep_meanwhile([&] {
    called = true;
    for (unsigned step = 0; step < 80; ++step) tested_->take(0);
  });
  EXPECT_TRUE(called);
  tested_->check_all();
}

TEST_F(hole_sweep_test, holes_are_purged_while_the_last_blocks_are_freed) {
  start(65, 48);
  sweep_meanwhile([&] {
    release(48, 60), release(60, 64, 1);
    for (unsigned step = 0; step < 80; ++step) tested_->take(0);
  });
  EXPECT_EQ(tested_->spans_in(span_state::free), 1U);
  tested_->check_all();
}

TEST_F(hole_sweep_test, holes_are_purged_while_the_owner_ends) {
  start(65, 48);
  sweep_meanwhile([&] { tested_->end_thread(0); });
  EXPECT_EQ(tested_->span_of(tested_->blocks[0]).owner(std::memory_order_relaxed), &tested_->life.orphanage);
  for (unsigned step = 0; step < 63 + 48; ++step) tested_->take(1);
  tested_->check_all();
}

using hole_sweep_beside_lists = sweep_of<many_blocks_and_a_listed_one>;

// The span returns from the sweep, and not from its owner: the map forgets the owner all the same.
TEST_F(hole_sweep_beside_lists, holes_are_purged_while_the_last_blocks_are_freed) {
  start(65, 48);
  sweep_meanwhile([&] {
    release(48, 60), release(60, 64, 1);
    tested_->empty_lists(0), tested_->empty_lists(1);
  });
  EXPECT_EQ(tested_->spans_in(span_state::free), 1U);
  tested_->check_all();
}

// A child that is forked in the middle of a sweep may lose blocks, and hands none out twice.
TEST_F(hole_sweep_test, holes_that_are_being_purged_are_lost_in_a_child_of_fork) {
  start(65, 48);
  hooked_platform::before_purge = [&] {
    tested_->life.expect_lost_counts();
    tested_->holes.after_fork_in_child();
  };
  tested_->holes.sweep_all();
  hooked_platform::before_purge = nullptr;
  EXPECT_EQ(holes_around(0), 0U);
  for (unsigned step = 0; step < 200; ++step) tested_->take(0);
  release(48, 64);
}

using hole_sweep_of_page_sized_blocks = sweep_of<block_is_page>;

TEST_F(hole_sweep_of_page_sized_blocks, pages_are_purged_but_for_the_first) {
  start(5, 3);
  EXPECT_TRUE(tested_->holes.sweep_all());
  EXPECT_EQ(pages_with_memory(0), 2U);
  for (unsigned step = 0; step < 6; ++step) tested_->take(0);
  expect_spans_in_use(2);
  tested_->check_all();
}

using hole_sweep_inside_blocks = sweep_of<many_pages>;

TEST_F(hole_sweep_inside_blocks, pages_are_purged_behind_the_link) {
  tested_->fill(65);
  for (void* const block : tested_->blocks)
    std::memset(static_cast<char*>(block) + 24, 1, many_pages.span_block_limit - 24);
  const unsigned before = pages_with_memory(0);
  release(0, 40), release(40, 50, 1);
  EXPECT_EQ(tested_->holes.returnable_bytes(), 50 * 3 * os_pages::page_bytes());
  EXPECT_TRUE(tested_->holes.sweep_all());
  EXPECT_EQ(tested_->holes.returnable_bytes(), 0U);
  EXPECT_EQ(pages_with_memory(0), before - 50 * 3);
  EXPECT_EQ(holes_around(0), 0U);
  for (unsigned step = 0; step < 63 + 40; ++step) tested_->take(0);
  expect_spans_in_use(2);
  tested_->check_all();
}

// A program of several threads, as far as the heap knows.
struct crowded_sync : concurrent::std_sync {
  static bool is_alone() { return false; }
};

// Thread 0 sleeps; its span, of 64 blocks in four pages, is hot and others free.
class hole_sweep_of_hot_spans : public sweep_of<many_blocks, crowded_sync> {
protected:
  void SetUp() override {
    sweep_of::SetUp();
    tested_->fill(64);
  }
  void release(unsigned first, unsigned end) { sweep_of::release(first, end, 1); }
  void expect_whole() {
    tested_->check_all();
    EXPECT_EQ(tested_->spans_in(span_state::hot), 1U);
  }
};

TEST_F(hole_sweep_of_hot_spans, holes_go_back_while_the_owner_sleeps) {
  release(0, 64);
  EXPECT_TRUE(tested_->holes.sweep_all());
  EXPECT_EQ(pages_with_memory(0), 1U);
  EXPECT_FALSE(tested_->holes.sweep_all()) << "nothing has changed";
  for (unsigned step = 0; step < 64; ++step) tested_->take(0);
  expect_spans_in_use(1);
  EXPECT_EQ(holes_around(0), 0U);
  expect_whole();
}

TEST_F(hole_sweep_of_hot_spans, holes_need_whole_pages_of_free_blocks) {
  release(1, 16), release(17, 32), release(33, 64);
  EXPECT_FALSE(tested_->holes.sweep_all());
  EXPECT_EQ(pages_with_memory(0), 4U) << "the last page has the first block of the list";
  expect_whole();
}

TEST_F(hole_sweep_of_hot_spans, holes_keep_their_count_where_the_owner_ends) {
  release(0, 48);
  EXPECT_TRUE(tested_->holes.sweep_all());
  tested_->end_thread(0);
  release(48, 64);
  EXPECT_EQ(tested_->spans_in(span_state::free), 1U);
  tested_->check_all();
}

// The owner takes the list, and ends before it has taken the holes.
TEST_F(hole_sweep_of_hot_spans, holes_keep_their_count_where_the_owner_runs_dry) {
  release(0, 64);
  EXPECT_TRUE(tested_->holes.sweep_all());
  tested_->fill(16);
  ASSERT_NE(tested_->span_of(tested_->blocks[0]).hot_holes.load(std::memory_order_relaxed), 0U);
  tested_->end_thread(0);
  release(64, 80);
  EXPECT_EQ(tested_->spans_in(span_state::free), 1U);
  tested_->check_all();
}

TEST_F(hole_sweep_of_hot_spans, holes_go_back_in_silence_after_two_looks) {
  release(0, 64);
  tested_->holes.sweep_quiet(1'000);
  EXPECT_EQ(pages_with_memory(0), 4U);
  tested_->holes.sweep_quiet(2'000);
  EXPECT_EQ(pages_with_memory(0), 1U);
  expect_whole();
}

}  // namespace
}  // namespace heaplab::scalloc::testing
