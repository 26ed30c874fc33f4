// A thread hands over the reusable spans of size classes that it does not need, and whoever needs them gets
// them.
#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "allocators/scalloc/frontend/span_life.h"
#include "concurrent/sync.h"
#include "scalloc/small_heap.h"

namespace heaplab::scalloc::testing {
namespace {

constexpr config four_blocks = handing_over<4>();
constexpr config cached = handing_over<8>(caching_config<8>(2, 2));
constexpr config kept = small_config<4>();

struct of_many_threads : concurrent::std_sync {
  static bool is_alone() { return false; }
};
struct of_one_thread : concurrent::std_sync {
  static bool is_alone() { return true; }
};

template <const config& Config, class Sync = of_many_threads>
struct heap_of : small_heap<Sync, Config> {
  using base = small_heap<Sync, Config>;
  using base::base;

  std::vector<void*> take(unsigned thread, unsigned count) {
    std::vector<void*> blocks;
    for (unsigned step = 0; step < count; ++step) blocks.push_back(this->allocate(thread));
    live.insert(blocks.begin(), blocks.end());
    return blocks;
  }
  void look_at_class() {
    const auto blocks = base::look_at_class(0);
    live.insert(blocks.begin(), blocks.end());
  }
  void free(unsigned thread, void* block) {
    live.erase(block);
    base::free(thread, block);
  }
  void check() { base::check(live); }
  bool is_handed_over(void* block) {
    return this->span_of(block).owner(std::memory_order_seq_cst) == &this->front.orphanage();
  }
  bool is_of(unsigned thread, void* block) {
    return this->span_of(block).owner(std::memory_order_seq_cst) == &*this->labs[thread];
  }

  // Thread 0 has a reusable span with the last of the first four blocks, and does not use the class between
  // two looks. The last block is of the hot span.
  std::vector<void*> leave_a_class() {
    const auto blocks = take(0, 5);
    for (unsigned index = 0; index < 3; ++index) free(0, blocks[index]);
    look_at_class();
    look_at_class();
    return blocks;
  }

  std::set<void*> live;
};
using heap = heap_of<four_blocks>;

TEST(idle_classes, hand_their_reusable_spans_over) {
  heap tested{1};
  const auto blocks = tested.leave_a_class();
  EXPECT_TRUE(tested.is_handed_over(blocks[3]));
  EXPECT_TRUE(tested.is_of(0, blocks[4])) << "a hot span stays";
  tested.check();
}

TEST(idle_classes, give_another_thread_what_it_needs) {
  heap tested{2};
  const auto blocks = tested.leave_a_class();
  void* const next = tested.take(1, 1)[0];
  EXPECT_EQ(&tested.span_of(next), &tested.span_of(blocks[3]));
  EXPECT_TRUE(tested.is_of(1, blocks[3]));
  tested.free(0, blocks[3]);
  tested.free(1, next);
  tested.check();
}

TEST(idle_classes, get_their_spans_back_first) {
  heap tested{1};
  const auto blocks = tested.leave_a_class();
  tested.take(0, 3);  // the rest of the hot span
  EXPECT_EQ(&tested.span_of(tested.take(0, 1)[0]), &tested.span_of(blocks[3]));
  EXPECT_TRUE(tested.is_of(0, blocks[3]));
  tested.check();
}

TEST(idle_classes, are_not_those_that_the_thread_uses) {
  heap tested{1};
  const auto blocks = tested.take(0, 5);
  for (unsigned index = 0; index < 3; ++index) tested.free(0, blocks[index]);
  tested.look_at_class();
  void* const used = tested.take(0, 1)[0];
  tested.look_at_class();
  tested.free(0, used);
  tested.look_at_class();
  EXPECT_TRUE(tested.is_of(0, blocks[3]));
  tested.check();
}

// As a thread does whose destructors have run.
TEST(idle_classes, of_the_orphanage_stay_there) {
  heap tested{2};
  const auto blocks = tested.leave_a_class();
  ASSERT_TRUE(tested.is_handed_over(blocks[3]));
  auto& orphanage = tested.front.orphanage();
  for (unsigned look = 0; look < 2; ++look) {
    orphanage.class_to_look_at = heap::class_index;
    tested.front.life().hand_over_idle(orphanage);
  }
  EXPECT_TRUE(tested.is_handed_over(blocks[3]));
  tested.check();
}

TEST(idle_classes, stay_with_the_only_thread) {
  heap_of<four_blocks, of_one_thread> tested{1};
  EXPECT_TRUE(tested.is_of(0, tested.leave_a_class()[3]));
}

TEST(idle_classes, stay_where_the_policy_says_so) {
  heap_of<kept> tested{1};
  EXPECT_TRUE(tested.is_of(0, tested.leave_a_class()[3]));
}

// A span that was handed over has a block in the cache of the thread that had the span.
TEST(idle_classes, take_cached_blocks_back_by_the_remote_list) {
  heap_of<cached> tested{2};
  const auto blocks = tested.take(0, 16);
  for (const unsigned index : {0U, 1U, 2U, 3U, 4U, 5U, 6U}) tested.free(0, blocks[index]);
  tested.free(1, blocks[7]);
  tested.look_at_class();
  tested.look_at_class();
  ASSERT_EQ(tested.cached_of(tested.span_of(blocks[8])), 2);
  ASSERT_EQ(tested.span_of(blocks[0]).load_word(std::memory_order_seq_cst).state(), span_state::reusable);
  ASSERT_TRUE(tested.is_handed_over(blocks[0]));
  tested.front.return_cached_blocks(*tested.labs[0]);
  EXPECT_EQ(tested.span_of(blocks[0]).load_word(std::memory_order_seq_cst).state(), span_state::free);
  tested.check();
}

}  // namespace
}  // namespace heaplab::scalloc::testing
