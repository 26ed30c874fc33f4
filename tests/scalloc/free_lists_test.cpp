// The lists of free blocks of threads: what they take, and how their blocks find the way home.
#include "allocators/scalloc/frontend/free_lists.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <set>

#include "concurrent/sync.h"
#include "scalloc/small_heap.h"

namespace heaplab::scalloc::testing {
namespace {

constexpr config two_listed_blocks = listing_config<4>(2, 2);
constexpr config four_listed_blocks = listing_config<4>(4, 4);
constexpr config up_to_four_listed_blocks = listing_config<4>(4, 1);

// Threads 0 and 1; thread 0 has taken all blocks of some spans, of which the last is hot and dry.
template <const config& Config, unsigned Spans>
class listing_heap : public small_heap<concurrent::std_sync, Config>, public ::testing::Test {
  using base = small_heap<concurrent::std_sync, Config>;

protected:
  using base::blocks, base::life, base::labs;

  listing_heap() : base(2) { base::take(0, 4 * Spans); }
  std::uint32_t listed_by(unsigned thread) { return labs[thread]->lists.count(base::class_index); }
  std::uint32_t remote_count(void* block) {
    return this->span_of(block).load_word(std::memory_order_relaxed).remote_count();
  }
};
using free_lists = listing_heap<two_listed_blocks, 2>;
using free_lists_of_many_spans = listing_heap<four_listed_blocks, 17>;
using free_lists_up_to_four = listing_heap<up_to_four_listed_blocks, 3>;

TEST_F(free_lists, hand_out_next_what_was_freed_last_whatever_its_span) {
  free(0, {0, 5});
  EXPECT_EQ(span_of(blocks[0]).used(), 4);
  EXPECT_EQ(span_of(blocks[5]).used(), 4);
  EXPECT_EQ(allocate(0), blocks[5]);
  EXPECT_EQ(allocate(0), blocks[0]);
  check({blocks.begin(), blocks.end()});
}

TEST_F(free_lists, take_blocks_of_other_owners_and_hand_them_out) {
  free(1, blocks[0]);
  EXPECT_EQ(remote_count(blocks[0]), 0U);
  EXPECT_EQ(allocate(1), blocks[0]);
  check({blocks.begin(), blocks.end()});
}

TEST_F(free_lists, keep_the_newest_half_where_the_thread_allocates) {
  free(0, {0, 1, 2, 3, 4});
  EXPECT_EQ(span_of(blocks[0]).used(), 4) << "as many as there were, and two";
  free(0, blocks[5]);
  EXPECT_EQ(state_of(blocks[0]), span_state::free);
  EXPECT_EQ(allocate(0), blocks[5]);
  EXPECT_EQ(allocate(0), blocks[4]);
}

TEST_F(free_lists, keep_nothing_where_the_thread_only_frees) {
  free(1, {0, 1});
  EXPECT_EQ(listed_by(1), 2U);
  free(1, blocks[4]);
  EXPECT_EQ(listed_by(1), 1U);
  EXPECT_EQ(remote_count(blocks[0]), 2U);
  check({blocks[2], blocks[3], blocks[5], blocks[6], blocks[7]});
}

TEST_F(free_lists, take_all_free_blocks_of_a_span_at_once) {
  allocate(0);
  EXPECT_EQ(listed_by(0), 3U);
  auto& hot = *labs[0]->hot[class_index];
  EXPECT_EQ(hot.used(), 4);
  EXPECT_EQ(hot.local_list, nullptr);
}

TEST_F(free_lists, take_all_that_others_have_freed_at_once) {
  free(1, {4, 5, 6});
  empty_lists(1);
  EXPECT_EQ(remote_count(blocks[4]), 3U);
  EXPECT_NE(allocate(0), nullptr);
  EXPECT_EQ(listed_by(0), 2U);
  EXPECT_EQ(remote_count(blocks[4]), 0U);
}

TEST_F(free_lists, keep_their_spans_from_being_returned) {
  free(0, {0, 1});
  free(1, {2, 3});
  EXPECT_EQ(spans_in(span_state::free), 0U);
  end_thread(0), end_thread(1);
  EXPECT_EQ(state_of(blocks[0]), span_state::free);
  check({blocks.begin() + 4, blocks.end()});
}

TEST_F(free_lists, go_home_when_their_thread_ends) {
  for (void* const block : blocks) free(0, block);
  end_thread(0);
  EXPECT_EQ(spans_in(span_state::free), 2U);
  check({});
}

TEST_F(free_lists, send_the_blocks_of_a_span_home_together) {
  free(1, {0, 4});
  free(0, {1, 5});
  end_thread(1);
  EXPECT_EQ(remote_count(blocks[0]), 1U);
  EXPECT_EQ(remote_count(blocks[4]), 1U);
  free(1, {2, 3});
  end_thread(1);
  EXPECT_EQ(remote_count(blocks[0]), 3U);
}

// Two of the spans would wait in the same place.
TEST_F(free_lists_of_many_spans, send_blocks_home_to_their_own_span) {
  free(1, {0, 64, 1, 65, 2});
  EXPECT_EQ(remote_count(blocks[0]), 2U);
  EXPECT_EQ(remote_count(blocks[64]), 2U);
  std::set<void*> live(blocks.begin() + 3, blocks.end());
  live.erase(blocks[64]), live.erase(blocks[65]);
  check(live);
}

// Each of the three spans was free, and has lowered the limit.
TEST_F(free_lists_up_to_four, are_short_where_free_spans_fill_them) {
  free(0, {0, 1, 2, 3, 4});
  EXPECT_EQ(listed_by(0), 1U);
  check({blocks.begin() + 5, blocks.end()});
}

TEST_F(free_lists_up_to_four, are_long_where_a_reusable_span_fills_them) {
  free(0, {0, 1, 2, 4, 8});
  ASSERT_EQ(state_of(blocks[0]), span_state::reusable);
  take(0, 2);
  ASSERT_EQ(state_of(blocks[0]), span_state::hot);
  const std::uint32_t before = listed_by(0);
  free(0, {5, 9, 10, 11});
  EXPECT_EQ(listed_by(0), before + 4);
}

TEST_F(free_lists, find_a_block_that_is_freed_again_whatever_was_freed_between) {
  const auto free_again = [&](std::initializer_list<unsigned> numbers, unsigned again) {
    free(0, numbers);
    free(0, blocks[again]);
  };
  EXPECT_DEATH(free_again({0}, 0), "free of a block that is free already");
  EXPECT_DEATH(free_again({0, 1}, 0), "free of a block that is free already");  // in the list
  EXPECT_DEATH(free_again({0, 1, 2, 4, 5, 6}, 0),
               "free of a block that is free already");  // in its own span's
}

TEST_F(free_lists, find_a_foreign_block_that_the_thread_frees_again) {
  EXPECT_DEATH((free(1, {0, 1}), free(1, blocks[0])), "free of a block that is free already");
}

TEST_F(free_lists, find_a_block_that_has_gone_home_from_another_threads_list) {
  const auto free_again = [&] {
    free(1, {0, 1});
    end_thread(1);
    free(0, blocks[0]);
  };
  EXPECT_DEATH(free_again(), "free of a block that is free already");
}

TEST_F(free_lists, find_a_block_in_the_lists_of_an_orphan) {
  end_thread(0);
  free(1, {0, 1});
  end_thread(1);
  auto& orphan = span_of(blocks[0]);
  ASSERT_EQ(orphan.owner(std::memory_order_relaxed), &life.orphanage);
  static_cast<void**>(blocks[2])[1] = static_cast<void**>(blocks[0])[1];
  EXPECT_TRUE(is_free_already(life, life.orphanage, orphan, blocks[0]));
  EXPECT_FALSE(is_free_already(life, life.orphanage, orphan, blocks[2])) << "looks free and is live";
}

// The program overwrites the marks of freed blocks.
TEST_F(free_lists, hide_no_free_too_many) {
  const auto free_without_marks = [&] {
    for (unsigned again = 0; again < 4; ++again)
      for (const unsigned number : {0U, 1U}) {
        static_cast<void**>(blocks[number])[1] = nullptr;
        free(0, blocks[number]);
        end_thread(0);
      }
  };
  EXPECT_DEATH(free_without_marks(), "heaplab: ");
}

TEST_F(free_lists, take_no_block_that_looks_free_and_is_live) {
  free(0, blocks[0]);
  static_cast<void**>(blocks[1])[1] = static_cast<void**>(blocks[0])[1];
  free(0, blocks[1]);
  EXPECT_EQ(span_of(blocks[1]).used(), 3);
  EXPECT_EQ(allocate(0), blocks[0]);
  std::set<void*> live(blocks.begin(), blocks.end());
  live.erase(blocks[1]);
  check(live);
}

TEST_F(free_lists, count_their_blocks) {
  EXPECT_EQ(listed_by(0), 0U);
  take(0, 1);
  EXPECT_EQ(listed_by(0), 3U);
  free(0, {0, 1});
  EXPECT_EQ(listed_by(0), 5U);
  take(0, 2);
  EXPECT_EQ(listed_by(0), 3U);
}

constexpr config lines_of_two_owners = [] {
  config result = listing_config<8>(4, 4);
  result.line_owners = 2;
  result.lines_kept = 2;
  return result;
}();

// Threads 0 and 1 have different numbers, threads 0 and 2 the same. Thread 0 has taken a span of 16 bytes.
class free_lists_of_owners : public small_heap<concurrent::std_sync, lines_of_two_owners>,
                             public ::testing::Test {
protected:
  static constexpr unsigned small_class = 0;

  free_lists_of_owners() : small_heap(3) {
    for (unsigned thread = 0; thread < 3; ++thread) labs[thread]->lists.set_owner(thread);
    for (unsigned step = 0; step < 8; ++step) blocks.push_back(allocate(0, small_class));
  }
  std::uint32_t gone_home() { return span_of(blocks[0]).load_word(std::memory_order_relaxed).remote_count(); }
};

TEST_F(free_lists_of_owners, hand_out_no_block_that_shares_a_line_with_another_owners) {
  free(1, blocks[0]);
  void* const fresh = allocate(1, small_class);
  EXPECT_NE(&span_of(fresh), &span_of(blocks[0]));
  EXPECT_EQ(labs[1]->lists.count(small_class), 7U + 1U) << "of its own span, and the block that waits";
  free(1, fresh);
  EXPECT_EQ(allocate(1, small_class), fresh);
}

TEST_F(free_lists_of_owners, send_such_blocks_home_together) {
  free(1, {0, 1});
  EXPECT_EQ(gone_home(), 0U);
  free(1, blocks[2]);
  EXPECT_EQ(gone_home(), 2U);
  end_thread(1);
  EXPECT_EQ(gone_home(), 3U);
}

TEST_F(free_lists_of_owners, send_home_what_waits_since_the_thread_trimmed) {
  free(1, blocks[0]);
  empty_lists(1);
  free(1, blocks[1]);
  end_thread(1);
  EXPECT_EQ(gone_home(), 2U);
}

TEST_F(free_lists_of_owners, send_home_what_waits_since_their_thread_has_another_number) {
  free(2, blocks[0]);
  end_thread(2);
  labs[2]->lists.set_owner(1);
  free(2, blocks[1]);
  end_thread(2);
  EXPECT_EQ(gone_home(), 2U);
}

TEST_F(free_lists_of_owners, hand_out_blocks_of_a_thread_with_the_same_number) {
  free(2, blocks[0]);
  EXPECT_EQ(allocate(2, small_class), blocks[0]);
}

TEST_F(free_lists_of_owners, hand_out_larger_blocks_whoever_owns_them) {
  void* const large = allocate(0);
  free(1, large);
  EXPECT_EQ(allocate(1), large);
}

TEST_F(free_lists_of_owners, find_a_waiting_block_that_is_freed_again) {
  EXPECT_DEATH((free(1, {0, 1}), free(1, blocks[0])), "free of a block that is free already");
}

// A span has the number of whom it serves.
TEST_F(free_lists_of_owners, follow_a_span_to_its_next_owner) {
  free(0, {0, 1, 2, 3, 4, 5, 6});
  end_thread(0);
  void* const again = allocate(1, small_class);
  ASSERT_EQ(&span_of(again), &span_of(blocks[7]));
  free(1, blocks[7]);
  EXPECT_EQ(allocate(1, small_class), blocks[7]);
}

// Threads 0 and 1 share the spans of buffer 2.
class free_lists_at_home : public small_heap<concurrent::std_sync, four_listed_blocks>,
                           public ::testing::Test {
protected:
  free_lists_at_home() : small_heap(3) {
    share(2);
    for (const unsigned thread : {0U, 1U}) labs[thread]->lists.share_limits(2, 4);
  }
};

TEST_F(free_lists_at_home, gives_each_thread_no_more_than_its_share_of_a_span) {
  void* const first = allocate(0);
  void* const second = allocate(1);
  EXPECT_EQ(&span_of(first), &span_of(second));
  EXPECT_EQ(span_of(first).owner(std::memory_order_relaxed), &*labs[2]);
  EXPECT_EQ(listed(0).size(), 1U);
  EXPECT_EQ(listed(1).size(), 1U);
  check({first, second});
}

TEST_F(free_lists_at_home, gives_whole_lines_of_small_blocks) {
  auto& lists = labs[0]->lists;
  lists.share_limits(1, 1000);
  EXPECT_EQ(lists.limit_of(class_index), 1U);
  EXPECT_EQ(lists.limit_of(0), 4U) << "of 16 bytes";
  lists.share_limits(1, 1);
  EXPECT_EQ(lists.limit_of(class_index), 4U);
}

TEST_F(free_lists_at_home, gives_more_at_a_time_to_who_uses_a_class_again) {
  labs[0]->lists.share_limits(1, 1000);
  take(0, 1);
  EXPECT_EQ(listed(0).size(), 0U);
  take(0, 1);
  EXPECT_EQ(listed(0).size(), 1U);
}

TEST_F(free_lists_at_home, takes_blocks_back_as_its_own) {
  take(0, 8);
  free(1, {0, 1, 2, 3});
  end_thread(1);
  EXPECT_EQ(state_of(blocks[0]), span_state::free);
  EXPECT_EQ(state_of(blocks[4]), span_state::hot);
  check({blocks.begin() + 4, blocks.end()});
}

TEST_F(free_lists_at_home, takes_blocks_of_no_list_back_as_its_own) {
  take(0, 8);
  life.arena.set_list(span_of(blocks[0]), 0);
  free(1, {0, 1, 2, 3});
  EXPECT_EQ(state_of(blocks[0]), span_state::free);
  check({blocks.begin() + 4, blocks.end()});
}

TEST_F(free_lists_at_home, has_no_hot_span_once_a_thread_has_trimmed) {
  take(0, 2);
  free(0, {0, 1});
  empty_lists(0);
  EXPECT_EQ(spans_in(span_state::hot), 0U);
  check({});
}

}  // namespace
}  // namespace heaplab::scalloc::testing
