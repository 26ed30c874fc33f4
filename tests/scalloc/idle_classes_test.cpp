// A thread hands over the reusable spans of size classes that it does not need, and whoever needs them gets
// them.
#include <gtest/gtest.h>

#include <initializer_list>
#include <set>

#include "allocators/scalloc/frontend/span_life.h"
#include "concurrent/sync.h"
#include "scalloc/small_heap.h"

namespace heaplab::scalloc::testing {
namespace {

constexpr config four_blocks = handing_over<4>();
constexpr config listed_blocks = handing_over<8>(listing_config<8>(2, 2));
constexpr config kept = small_config<4>();

struct of_many_threads : concurrent::std_sync {
  static bool is_alone() { return false; }
};
struct of_one_thread : concurrent::std_sync {
  static bool is_alone() { return true; }
};

template <const config& Config, class Sync = of_many_threads>
class heap_of : public small_heap<Sync, Config>, public ::testing::Test {
  using base = small_heap<Sync, Config>;

protected:
  using base::blocks;

  heap_of() : base(2) {}

  void* allocate(unsigned thread) {
    base::take(thread, 1);
    live.insert(blocks.back());
    return blocks.back();
  }
  void take(unsigned thread, unsigned count) {
    for (unsigned step = 0; step < count; ++step) allocate(thread);
  }
  void free(unsigned thread, void* block) {
    live.erase(block);
    base::free(thread, block);
  }
  void free(unsigned thread, std::initializer_list<unsigned> numbers) {
    for (const unsigned number : numbers) free(thread, blocks[number]);
  }
  void look_at_class() {
    const auto others = base::look_at_class(0);
    live.insert(others.begin(), others.end());
  }
  void check() { base::check(live); }
  bool is_handed_over(void* block) {
    return this->span_of(block).owner(std::memory_order_seq_cst) == &this->life.orphanage;
  }
  bool is_of(unsigned thread, void* block) {
    return this->span_of(block).owner(std::memory_order_seq_cst) == &*this->labs[thread];
  }

  // Thread 0 has a reusable span with the last of the first four blocks, and does not use the class between
  // two looks. The last block is of the hot span.
  void leave_a_class() {
    take(0, 5);
    free(0, {0, 1, 2});
    look_at_class();
    look_at_class();
  }

  std::set<void*> live;
};
using idle_classes_test = heap_of<four_blocks>;
using idle_classes_of_one_thread = heap_of<four_blocks, of_one_thread>;
using idle_classes_kept = heap_of<kept>;
using idle_classes_listed = heap_of<listed_blocks>;

TEST_F(idle_classes_test, hand_their_reusable_spans_over) {
  leave_a_class();
  EXPECT_TRUE(is_handed_over(blocks[3]));
  EXPECT_TRUE(is_of(0, blocks[4])) << "a hot span stays";
  check();
}

TEST_F(idle_classes_test, give_another_thread_what_it_needs) {
  leave_a_class();
  void* const next = allocate(1);
  EXPECT_EQ(&span_of(next), &span_of(blocks[3]));
  EXPECT_TRUE(is_of(1, blocks[3]));
  free(0, blocks[3]);
  free(1, next);
  check();
}

TEST_F(idle_classes_test, get_their_spans_back_first) {
  leave_a_class();
  take(0, 3);  // the rest of the hot span
  EXPECT_EQ(&span_of(allocate(0)), &span_of(blocks[3]));
  EXPECT_TRUE(is_of(0, blocks[3]));
  check();
}

TEST_F(idle_classes_test, are_not_those_that_the_thread_uses) {
  take(0, 5);
  free(0, {0, 1, 2});
  look_at_class();
  void* const used = allocate(0);
  look_at_class();
  free(0, used);
  look_at_class();
  EXPECT_TRUE(is_of(0, blocks[3]));
  check();
}

// As a thread does whose destructors have run.
TEST_F(idle_classes_test, of_the_orphanage_stay_there) {
  leave_a_class();
  ASSERT_TRUE(is_handed_over(blocks[3]));
  auto& orphanage = life.orphanage;
  for (unsigned look = 0; look < 2; ++look) {
    orphanage.class_to_look_at = class_index;
    life.abandon_idle(orphanage);
  }
  EXPECT_TRUE(is_handed_over(blocks[3]));
  check();
}

TEST_F(idle_classes_of_one_thread, stay_with_the_only_thread) {
  leave_a_class();
  EXPECT_TRUE(is_of(0, blocks[3]));
}

TEST_F(idle_classes_kept, stay_where_the_policy_says_so) {
  leave_a_class();
  EXPECT_TRUE(is_of(0, blocks[3]));
}

// A span that was handed over has blocks in the list of the thread that had the span.
TEST_F(idle_classes_listed, take_listed_blocks_back_by_the_remote_list) {
  take(0, 16);
  free(0, {0, 1, 2, 3, 4, 5, 8, 9, 10, 6});
  free(1, blocks[7]);
  look_at_class();
  look_at_class();
  ASSERT_EQ(state_of(blocks[0]), span_state::reusable);
  ASSERT_TRUE(is_handed_over(blocks[0]));
  end_thread(0), end_thread(1);
  EXPECT_EQ(state_of(blocks[0]), span_state::free);
  check();
}

}  // namespace
}  // namespace heaplab::scalloc::testing
