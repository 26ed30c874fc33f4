#include "concurrent/purge_thread_post.h"

#include <gtest/gtest.h>

#include <memory>

#include "explore/expect_sound.h"
#include "explore/torn_sync.h"

namespace heaplab::concurrent {
namespace {

TEST(purge_thread_post, is_given_to_one_at_a_time) {
  purge_thread_post<std_sync> tested;
  EXPECT_TRUE(tested.looks_vacant());
  const auto first = tested.ask();
  ASSERT_TRUE(first);
  EXPECT_FALSE(tested.looks_vacant());
  EXPECT_FALSE(tested.ask());
  EXPECT_FALSE(tested.ask());
  EXPECT_FALSE(tested.try_resign(*first)) << "there were requests";
  EXPECT_TRUE(tested.try_resign(*first));
  EXPECT_TRUE(tested.looks_vacant());
  const auto second = tested.ask();
  ASSERT_TRUE(second);
  EXPECT_NE(*first, *second);
}

TEST(purge_thread_post, is_vacant_again_where_no_purge_thread_could_be_started) {
  purge_thread_post<std_sync> tested;
  tested.dismiss(*tested.ask());
  EXPECT_TRUE(tested.looks_vacant());
  EXPECT_TRUE(tested.ask());
}

TEST(purge_thread_post, passes_on_from_one_who_offers_it) {
  purge_thread_post<std_sync> tested;
  const auto first = tested.ask();
  tested.offer(*first);
  EXPECT_FALSE(tested.is_relieved(*first)) << "nobody else has asked";
  const auto second = tested.ask();
  ASSERT_TRUE(second);
  EXPECT_TRUE(tested.is_relieved(*first));
  tested.offer(*first);
  tested.dismiss(*first);
  EXPECT_TRUE(tested.try_resign(*first)) << "and changes nothing";
  EXPECT_FALSE(tested.looks_vacant());
  EXPECT_FALSE(tested.is_relieved(*second));
  EXPECT_TRUE(tested.try_resign(*second));
}

TEST(purge_thread_post, of_one_who_offered_it_is_vacant_when_nobody_wants_it) {
  purge_thread_post<std_sync> tested;
  const auto first = tested.ask();
  tested.offer(*first);
  EXPECT_TRUE(tested.try_resign(*first));
  EXPECT_TRUE(tested.ask());
}

TEST(purge_thread_post, is_vacant_in_the_child_of_a_fork) {
  purge_thread_post<std_sync> tested;
  tested.ask();
  tested.after_fork_in_child();
  EXPECT_TRUE(tested.ask());
}

// Threads add work and ask; who gets the post serves as the purge thread at once. No work may be left over.
template <class Sync>
explore::outcome explore_post(bool offers) {
  struct scene {
    purge_thread_post<Sync> post;
    typename Sync::template atomic<unsigned> work{0};
    unsigned done = 0;
  };
  std::unique_ptr<scene> tested;
  const auto serve = [&](std::uint32_t number) {
    while (!tested->post.is_relieved(number)) {
      if (offers) tested->post.offer(number);
      tested->done += tested->work.exchange(0, std::memory_order_seq_cst);
      if (tested->post.try_resign(number)) return;
    }
  };
  const auto thread = [&] {
    for (int request = 0; request < 2; ++request) {
      tested->work.fetch_add(1, std::memory_order_seq_cst);
      if (const auto number = tested->post.ask()) serve(*number);
    }
  };
  const auto check = [&] {
    explore::require(tested->done == 4, "a request is lost");
    explore::require(tested->post.ask().has_value(), "nobody serves, and nobody can");
  };
  const explore::program two{
      .setup = [&] { tested = std::make_unique<scene>(); }, .threads = {thread, thread}, .check = check};
  return explore::explorer(two, {.preemptions = 4}).explore();
}

TEST(purge_thread_post, interleavings_lose_no_request) {
  explore::expect_sound(explore_post<explore::explored_sync>(false), 100);
}

TEST(purge_thread_post, interleavings_lose_no_request_where_the_post_is_offered) {
  explore::expect_sound(explore_post<explore::explored_sync>(true), 100);
}

TEST(purge_thread_post, interleavings_find_the_request_lost_by_a_torn_resignation) {
  EXPECT_EQ(explore_post<explore::torn_sync>(false).what, "a request is lost");
}

}  // namespace
}  // namespace heaplab::concurrent
