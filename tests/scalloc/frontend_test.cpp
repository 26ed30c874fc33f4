// The life of spans with one thread at work at a time: every state is reached, and left, as the paper has it.
#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "concurrent/sync.h"
#include "scalloc/small_heap.h"

namespace heaplab::scalloc::testing {
namespace {

constexpr config four_blocks = small_config<4>();
constexpr config eight_blocks = small_config<8>();
constexpr config no_reuse = small_config<4>(100);
constexpr config lazy_return = small_config<4>(50, false);
constexpr config newest_first = small_config<4>(50, true, true);
constexpr config no_adoption = [] {
  config result = small_config<4>();
  result.adopt_on_free = false;
  return result;
}();

template <const config& Config>
struct heap_of : small_heap<concurrent::std_sync, Config> {
  using small_heap<concurrent::std_sync, Config>::small_heap;

  std::vector<void*> take(unsigned thread, unsigned count) {
    std::vector<void*> blocks;
    for (unsigned step = 0; step < count; ++step) blocks.push_back(this->allocate(thread));
    return blocks;
  }
  span_state state_of(void* block) {
    return this->span_of(block).load_word(std::memory_order_seq_cst).state();
  }
  unsigned owner_of(void* block) {
    for (unsigned thread = 0; thread < this->labs.size(); ++thread)
      if (this->span_of(block).owner(std::memory_order_seq_cst) == &*this->labs[thread]) return thread;
    return 99;
  }
};
using heap = heap_of<four_blocks>;

TEST(frontend, allocates_in_address_order_from_one_hot_span) {
  heap tested{1};
  const auto blocks = tested.take(0, 4);
  for (unsigned index = 1; index < 4; ++index)
    EXPECT_EQ(static_cast<char*>(blocks[index]) - static_cast<char*>(blocks[0]), 256 * index);
  EXPECT_EQ(tested.state_of(blocks[0]), span_state::hot);
  tested.check({blocks.begin(), blocks.end()});
}

TEST(frontend, floats_a_dry_span_and_reuses_it_past_the_threshold) {
  heap tested{1};
  const auto blocks = tested.take(0, 5);
  EXPECT_EQ(tested.state_of(blocks[0]), span_state::floating);
  EXPECT_EQ(tested.state_of(blocks[4]), span_state::hot);
  tested.free(0, blocks[0]);
  tested.free(0, blocks[1]);
  EXPECT_EQ(tested.state_of(blocks[3]), span_state::floating) << "half of the blocks is not more than half";
  tested.free(0, blocks[2]);
  EXPECT_EQ(tested.state_of(blocks[3]), span_state::reusable);
  tested.take(0, 3);
  EXPECT_EQ(tested.state_of(blocks[3]), span_state::reusable);
  EXPECT_EQ(tested.allocate(0), blocks[2]) << "the newest free block of the reusable span";
  EXPECT_EQ(tested.state_of(blocks[3]), span_state::hot);
}

// Two spans become reusable, one after the other; returns which of them is used again first, 0 or 1.
template <class Heap>
unsigned reused_first() {
  Heap tested{1};
  const auto blocks = tested.take(0, 12);
  for (const unsigned span : {0U, 1U})
    for (unsigned index = 0; index < 3; ++index) tested.free(0, blocks[4 * span + index]);
  tested.allocate(0);
  return tested.state_of(blocks[3]) == span_state::hot ? 0 : 1;
}

TEST(frontend, reuses_the_oldest_reusable_span_first_or_the_newest_as_configured) {
  EXPECT_EQ(reused_first<heap>(), 0U);
  EXPECT_EQ(reused_first<heap_of<newest_first>>(), 1U);
}

TEST(frontend, returns_an_empty_span_at_once_whoever_frees_last) {
  for (const unsigned last : {0U, 1U}) {
    heap tested{2};
    const auto blocks = tested.take(0, 5);
    for (unsigned index = 0; index < 3; ++index) tested.free(0, blocks[index]);
    tested.free(last, blocks[3]);
    EXPECT_EQ(tested.state_of(blocks[3]), span_state::free);
    EXPECT_EQ(tested.owner_of(blocks[3]), 99U);
    tested.check({blocks[4]});
  }
}

TEST(frontend, keeps_a_hot_span_when_it_is_empty) {
  heap tested{1};
  const auto blocks = tested.take(0, 1);
  tested.free(0, blocks[0]);
  EXPECT_EQ(tested.state_of(blocks[0]), span_state::hot);
  EXPECT_EQ(tested.allocate(0), blocks[0]);
}

TEST(frontend, takes_remote_blocks_back_past_the_threshold_only) {
  heap tested{2};
  const auto blocks = tested.take(0, 4);
  tested.free(1, blocks[0]);
  tested.free(1, blocks[1]);
  tested.free(1, blocks[2]);
  EXPECT_EQ(tested.state_of(blocks[3]), span_state::hot);
  EXPECT_EQ(tested.allocate(0), blocks[2]);
  EXPECT_EQ(tested.state_of(blocks[3]), span_state::hot);

  heap other{2};
  const auto few = other.take(0, 4);
  other.free(1, few[0]);
  other.allocate(0);
  EXPECT_EQ(other.state_of(few[3]), span_state::floating);
}

TEST(frontend, takes_the_few_remote_blocks_of_a_dry_span_along_so_that_frees_stay_fast) {
  heap tested{2};
  const auto blocks = tested.take(0, 4);
  tested.free(1, blocks[0]);
  tested.allocate(0);
  auto& left = tested.span_of(blocks[1]);
  EXPECT_EQ(tested.state_of(blocks[1]), span_state::floating);
  EXPECT_EQ(left.load_word(std::memory_order_relaxed).remote_count(), 0U);
  EXPECT_EQ(left.used(), 3);
  bool due = true;
  EXPECT_TRUE(tested.front.try_deallocate(*tested.labs[0], blocks[1], due));
  EXPECT_FALSE(due);
}

TEST(frontend, looks_at_a_reused_span_as_little_as_at_a_new_one) {
  heap tested{1};
  const auto blocks = tested.take(0, 8);
  for (const unsigned index : {0U, 1U, 2U}) tested.free(0, blocks[index]);
  void* const again = tested.allocate(0);
  ASSERT_EQ(tested.state_of(blocks[3]), span_state::hot);
  for (void* const block : {again, blocks[3]}) {
    bool due = true;
    EXPECT_TRUE(tested.front.try_deallocate(*tested.labs[0], block, due));
    EXPECT_FALSE(due);
  }
}

// As a child of fork may find it: a block was taken, and not yet counted.
TEST(frontend, counts_a_dry_span_anew) {
  heap tested{1};
  const auto blocks = tested.take(0, 4);
  auto& miscounted = tested.span_of(blocks[0]);
  miscounted.countdown.set(miscounted.countdown.read_own() - 1);
  EXPECT_EQ(miscounted.used(), 3);
  tested.allocate(0);
  EXPECT_EQ(miscounted.used(), 4);
}

TEST(frontend, counts_local_and_remote_frees_of_a_floating_span_together) {
  heap tested{2};
  const auto blocks = tested.take(0, 5);
  tested.free(1, blocks[0]);
  tested.free(0, blocks[1]);
  tested.free(1, blocks[2]);
  EXPECT_EQ(tested.state_of(blocks[3]), span_state::reusable);
  tested.free(0, blocks[3]);
  EXPECT_EQ(tested.state_of(blocks[3]), span_state::free);
}

TEST(frontend, never_reuses_where_reuse_is_off) {
  heap_of<no_reuse> tested{2};
  const auto blocks = tested.take(0, 5);
  for (unsigned index = 0; index < 3; ++index) tested.free(index % 2, blocks[index]);
  EXPECT_EQ(tested.state_of(blocks[3]), span_state::floating);
  tested.free(0, blocks[3]);
  EXPECT_EQ(tested.state_of(blocks[3]), span_state::free);
}

TEST(frontend, leaves_empty_spans_to_the_next_malloc_where_return_is_lazy) {
  heap_of<lazy_return> tested{1};
  const auto blocks = tested.take(0, 9);
  for (unsigned index = 0; index < 8; ++index) tested.free(0, blocks[index]);
  EXPECT_EQ(tested.state_of(blocks[0]), span_state::reusable);
  EXPECT_EQ(tested.spans_in(span_state::free), 0U);
  tested.take(0, 4);
  EXPECT_EQ(tested.spans_in(span_state::free) + tested.spans_in(span_state::hot), 2U);
}

// Fault 2.11-3 of the original: hot spans that were empty when their thread ended were lost.
TEST(frontend, strands_nothing_when_threads_end) {
  heap tested{1};
  for (unsigned round = 0; round < 100; ++round) {
    tested.free(0, tested.allocate(0));
    tested.end_thread(0);
    EXPECT_EQ(tested.spans_in(span_state::free), 1U);
  }
  EXPECT_EQ(tested.spans_in(span_state::hot), 0U);
  tested.check({});
}

TEST(frontend, gives_orphans_to_who_frees_a_block) {
  heap tested{2};
  const auto blocks = tested.take(0, 4);
  tested.end_thread(0);
  EXPECT_EQ(tested.state_of(blocks[0]), span_state::floating);
  EXPECT_EQ(tested.owner_of(blocks[0]), 99U);
  tested.free(1, blocks[0]);
  EXPECT_EQ(tested.owner_of(blocks[0]), 1U);
  tested.free(1, blocks[1]);
  tested.free(1, blocks[2]);
  EXPECT_EQ(tested.state_of(blocks[3]), span_state::reusable);
  tested.check({blocks[3]});
}

// A thread that frees and never allocates would keep what it adopts.
TEST(frontend, leaves_orphans_to_who_needs_a_span_where_adoption_is_off) {
  heap_of<no_adoption> tested{3};
  const auto blocks = tested.take(0, 4);
  tested.end_thread(0);
  for (unsigned index = 0; index < 3; ++index) {
    tested.free(1, blocks[index]);
    EXPECT_EQ(tested.owner_of(blocks[3]), 99U);
  }
  EXPECT_EQ(tested.state_of(blocks[3]), span_state::reusable);
  const void* const next = tested.allocate(2);
  EXPECT_EQ(tested.owner_of(const_cast<void*>(next)), 2U);
  EXPECT_EQ(&tested.span_of(const_cast<void*>(next)), &tested.span_of(blocks[3]))
      << "no other span was needed";
  tested.free(1, blocks[3]);
  tested.check({const_cast<void*>(next)});
}

// Fault 2.11-5 of the original: it judged the last free by the epoch from before the adoption.
TEST(frontend, returns_a_reusable_orphan_whose_adopter_frees_the_last_block) {
  heap_of<eight_blocks> tested{2};
  const auto blocks = tested.take(0, 8);
  for (unsigned index = 0; index < 5; ++index) tested.free(0, blocks[index]);
  tested.end_thread(0);
  ASSERT_EQ(tested.state_of(blocks[7]), span_state::reusable);
  tested.free(1, blocks[5]);
  ASSERT_EQ(tested.owner_of(blocks[7]), 1U);
  ASSERT_EQ(tested.state_of(blocks[7]), span_state::reusable);
  tested.free(1, blocks[6]);
  tested.free(1, blocks[7]);
  EXPECT_EQ(tested.state_of(blocks[7]), span_state::free);
  tested.check({});
}

// Fault 2.11-6 of the original: what a span had been in its last tenure kept it from becoming hot, and an
// empty hot span passed for one to be returned.
TEST(frontend, makes_a_recycled_span_as_hot_as_a_new_one) {
  heap tested{1};
  const auto blocks = tested.take(0, 5);
  for (unsigned index = 0; index < 5; ++index) tested.free(0, blocks[index]);
  ASSERT_EQ(tested.state_of(blocks[0]), span_state::free);
  const auto again = tested.take(0, 5);
  ASSERT_EQ(&tested.span_of(again[4]), &tested.span_of(blocks[0]));
  EXPECT_EQ(tested.state_of(again[4]), span_state::hot);
  tested.free(0, again[4]);
  EXPECT_EQ(tested.state_of(again[4]), span_state::hot);
  EXPECT_EQ(tested.allocate(0), again[4]);
}

TEST(frontend, gives_reusable_orphans_to_who_needs_a_span) {
  heap tested{2};
  const auto blocks = tested.take(0, 4);
  for (unsigned index = 0; index < 3; ++index) tested.free(0, blocks[index]);
  tested.end_thread(0);
  EXPECT_EQ(tested.state_of(blocks[3]), span_state::reusable);
  const void* const next = tested.allocate(1);
  EXPECT_EQ(&tested.span_of(const_cast<void*>(next)), &tested.span_of(blocks[3]));
  EXPECT_EQ(tested.owner_of(blocks[3]), 1U);
}

TEST(frontend, recycles_spans_of_others_before_carving_new_ones) {
  heap tested{2};
  const auto blocks = tested.take(0, 5);
  for (unsigned index = 0; index < 4; ++index) tested.free(0, blocks[index]);
  std::size_t before = 0, after = 0;
  tested.front.spans().for_each_span([&](auto&) { ++before; });
  tested.take(1, 4);
  tested.front.spans().for_each_span([&](auto&) { ++after; });
  EXPECT_EQ(before, after);
}

TEST(frontend, refuses_what_is_no_live_block) {
  heap tested{2};
  const auto blocks = tested.take(0, 5);
  auto* const inside = static_cast<char*>(blocks[0]) + 16;
  EXPECT_DEATH((tested.free(0, blocks[0]), tested.free(0, blocks[0])), "heaplab: [^\n]*free[^\n]*: 0x");
  EXPECT_DEATH((tested.free(1, blocks[0]), tested.free(1, blocks[0])), "heaplab: [^\n]*free[^\n]*: 0x");
  EXPECT_DEATH(tested.free(1, inside), "heaplab: not a live block: 0x");
  for (unsigned index = 0; index < 4; ++index) tested.free(0, blocks[index]);
  EXPECT_DEATH(tested.free(0, blocks[1]), "heaplab: not a live block: 0x");
}

TEST(frontend, trims_free_spans) {
  heap tested{1};
  const auto blocks = tested.take(0, 5);
  for (unsigned index = 0; index < 4; ++index) tested.free(0, blocks[index]);
  EXPECT_TRUE(tested.front.reclaim().trim(0));
  EXPECT_FALSE(tested.front.reclaim().trim(0));
  EXPECT_EQ(*static_cast<char*>(blocks[0]), 0) << "the memory has been given back";
}

TEST(frontend, is_out_of_memory_when_the_arena_is_full) {
  heap tested{1};
  std::vector<void*> blocks;
  for (;;) {
    void* block = tested.front.try_allocate(*tested.labs[0], heap::class_index);
    bool is_zero;
    if (block == nullptr) block = tested.front.allocate_slow(*tested.labs[0], heap::class_index, is_zero);
    if (block == nullptr) break;
    blocks.push_back(block);
  }
  EXPECT_EQ(blocks.size(), four_blocks.arena_bytes / four_blocks.fine_span_bytes * 4);
  for (void* const block : blocks) tested.free(0, block);
  EXPECT_NE(tested.allocate(0), nullptr);
}

}  // namespace
}  // namespace heaplab::scalloc::testing
