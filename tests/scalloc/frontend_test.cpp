// The life of spans with one thread at work at a time: every state is reached, and left, as the paper has it.
#include <gtest/gtest.h>

#include "allocators/scalloc/policy/variants.h"
#include "concurrent/sync.h"
#include "scalloc/small_heap.h"

namespace heaplab::scalloc::testing {
namespace {

constexpr config four_blocks = small_config<4>();
constexpr config eight_blocks = small_config<8>();
constexpr config no_reuse = small_config<4>(100);
constexpr config lazy_return = small_config<4>(50, false);
constexpr config newest_first = small_config<4>(50, true, true);
constexpr config no_adoption = without_adoption<4>();

constexpr config hundred_blocks(const config& from) {
  config result = small_config<100>(from.reuse_percent);
  result.fine_span_bytes = result.coarse_span_bytes = 32 * kib;
  return result;
}
constexpr config share_of_the_library = hundred_blocks(standard());
constexpr config share_of_the_paper = hundred_blocks(paper());

template <const config& Config>
struct heap_of : small_heap<concurrent::std_sync, Config> {
  using small_heap<concurrent::std_sync, Config>::small_heap;

  bool is_freed_with_nothing_due(void* block) {
    bool due = true;
    return try_deallocate(this->life, *this->labs[0], block, due) && !due;
  }
  unsigned owner_of(void* block) {
    for (unsigned thread = 0; thread < this->labs.size(); ++thread)
      if (this->span_of(block).owner(std::memory_order_seq_cst) == &*this->labs[thread]) return thread;
    return 99;
  }
};

template <const config& Config>
class fixture : public heap_of<Config>, public ::testing::Test {
protected:
  fixture() : heap_of<Config>(3) {}
};
using frontend_test = fixture<four_blocks>;
using frontend_without_reuse = fixture<no_reuse>;
using frontend_with_lazy_return = fixture<lazy_return>;
using frontend_without_adoption = fixture<no_adoption>;
using frontend_with_eight_blocks = fixture<eight_blocks>;

TEST_F(frontend_test, allocates_in_address_order_from_one_hot_span) {
  take(0, 4);
  for (unsigned index = 1; index < 4; ++index)
    EXPECT_EQ(static_cast<char*>(blocks[index]) - static_cast<char*>(blocks[0]), 256 * index);
  EXPECT_EQ(state_of(blocks[0]), span_state::hot);
  check({blocks.begin(), blocks.end()});
}

TEST_F(frontend_test, floats_a_dry_span_and_reuses_it_past_the_threshold) {
  take(0, 5);
  EXPECT_EQ(state_of(blocks[0]), span_state::floating);
  EXPECT_EQ(state_of(blocks[4]), span_state::hot);
  free(0, {0, 1});
  EXPECT_EQ(state_of(blocks[3]), span_state::floating) << "half of the blocks is not more than half";
  free(0, blocks[2]);
  EXPECT_EQ(state_of(blocks[3]), span_state::reusable);
  take(0, 3);
  EXPECT_EQ(state_of(blocks[3]), span_state::reusable);
  EXPECT_EQ(allocate(0), blocks[2]) << "the newest free block of the reusable span";
  EXPECT_EQ(state_of(blocks[3]), span_state::hot);
}

template <const config& Config>
void expect_reuse_past(unsigned percent) {
  heap_of<Config> tested{1};
  tested.take(0, 101);
  for (unsigned index = 0; index < percent; ++index) tested.free(0, tested.blocks[index]);
  EXPECT_EQ(tested.state_of(tested.blocks[99]), span_state::floating) << percent;
  tested.free(0, tested.blocks[percent]);
  EXPECT_EQ(tested.state_of(tested.blocks[99]), span_state::reusable) << percent;
}

TEST(frontend, reuses_a_span_past_the_share_of_the_library_and_of_the_paper) {
  expect_reuse_past<share_of_the_library>(15);
  expect_reuse_past<share_of_the_paper>(80);
}

// Two spans become reusable, one after the other; returns which of them is used again first, 0 or 1.
template <const config& Config>
unsigned reused_first() {
  heap_of<Config> tested{1};
  tested.take(0, 12);
  tested.free(0, {0, 1, 2, 4, 5, 6});
  tested.allocate(0);
  return tested.state_of(tested.blocks[3]) == span_state::hot ? 0 : 1;
}

TEST(frontend, reuses_the_oldest_reusable_span_first_or_the_newest_as_configured) {
  EXPECT_EQ(reused_first<four_blocks>(), 0U);
  EXPECT_EQ(reused_first<newest_first>(), 1U);
}

TEST(frontend, returns_an_empty_span_at_once_whoever_frees_last) {
  for (const unsigned last : {0U, 1U}) {
    heap_of<four_blocks> tested{2};
    tested.take(0, 5);
    tested.free(0, {0, 1, 2}), tested.free(last, {3});
    EXPECT_EQ(tested.state_of(tested.blocks[3]), span_state::free);
    EXPECT_EQ(tested.owner_of(tested.blocks[3]), 99U);
    tested.check({tested.blocks[4]});
  }
}

TEST_F(frontend_test, keeps_a_hot_span_when_it_is_empty) {
  take(0, 1);
  free(0, blocks[0]);
  EXPECT_EQ(state_of(blocks[0]), span_state::hot);
  EXPECT_EQ(allocate(0), blocks[0]);
}

TEST_F(frontend_test, takes_remote_blocks_back_past_the_threshold_only) {
  take(0, 4);
  free(1, {0, 1, 2});
  EXPECT_EQ(state_of(blocks[3]), span_state::hot);
  EXPECT_EQ(allocate(0), blocks[2]);
  EXPECT_EQ(state_of(blocks[3]), span_state::hot);
}

TEST_F(frontend_test, takes_the_few_remote_blocks_of_a_dry_span_along_so_that_frees_stay_fast) {
  take(0, 4);
  free(1, blocks[0]);
  allocate(0);
  auto& left = span_of(blocks[1]);
  EXPECT_EQ(state_of(blocks[1]), span_state::floating);
  EXPECT_EQ(left.load_word(std::memory_order_relaxed).remote_count(), 0U);
  EXPECT_EQ(left.used(), 3);
  EXPECT_TRUE(is_freed_with_nothing_due(blocks[1]));
}

TEST_F(frontend_test, looks_at_a_reused_span_as_little_as_at_a_new_one) {
  take(0, 8);
  free(0, {0, 1, 2});
  void* const again = allocate(0);
  ASSERT_EQ(state_of(blocks[3]), span_state::hot);
  for (void* const block : {again, blocks[3]}) EXPECT_TRUE(is_freed_with_nothing_due(block));
}

// As a child of fork may find it: a block was taken, and not yet counted.
TEST_F(frontend_test, counts_a_dry_span_anew) {
  take(0, 4);
  auto& miscounted = span_of(blocks[0]);
  miscounted.countdown.set(miscounted.countdown.read_own() - 1);
  EXPECT_EQ(miscounted.used(), 3);
  allocate(0);
  EXPECT_EQ(miscounted.used(), 4);
}

TEST_F(frontend_test, counts_local_and_remote_frees_of_a_floating_span_together) {
  take(0, 5);
  free(1, blocks[0]);
  free(0, blocks[1]);
  free(1, blocks[2]);
  EXPECT_EQ(state_of(blocks[3]), span_state::reusable);
  free(0, blocks[3]);
  EXPECT_EQ(state_of(blocks[3]), span_state::free);
}

TEST_F(frontend_without_reuse, never_reuses_where_reuse_is_off) {
  take(0, 5);
  for (unsigned index = 0; index < 3; ++index) free(index % 2, blocks[index]);
  EXPECT_EQ(state_of(blocks[3]), span_state::floating);
  free(0, blocks[3]);
  EXPECT_EQ(state_of(blocks[3]), span_state::free);
}

TEST_F(frontend_with_lazy_return, leaves_empty_spans_to_the_next_malloc_where_return_is_lazy) {
  take(0, 9);
  free(0, {0, 1, 2, 3, 4, 5, 6, 7});
  EXPECT_EQ(state_of(blocks[0]), span_state::reusable);
  EXPECT_EQ(spans_in(span_state::free), 0U);
  take(0, 4);
  EXPECT_EQ(spans_in(span_state::free) + spans_in(span_state::hot), 2U);
}

// Fault 2.11-3 of the original: hot spans that were empty when their thread ended were lost.
TEST_F(frontend_test, strands_nothing_when_threads_end) {
  for (unsigned round = 0; round < 100; ++round) {
    free(0, allocate(0));
    end_thread(0);
    EXPECT_EQ(spans_in(span_state::free), 1U);
  }
  EXPECT_EQ(spans_in(span_state::hot), 0U);
  check({});
}

TEST_F(frontend_test, gives_orphans_to_who_frees_a_block) {
  take(0, 4);
  end_thread(0);
  EXPECT_EQ(state_of(blocks[0]), span_state::floating);
  EXPECT_EQ(owner_of(blocks[0]), 99U);
  free(1, blocks[0]);
  EXPECT_EQ(owner_of(blocks[0]), 1U);
  free(1, {1, 2});
  EXPECT_EQ(state_of(blocks[3]), span_state::reusable);
  check({blocks[3]});
}

// A thread that frees and never allocates would keep what it adopts.
TEST_F(frontend_without_adoption, leaves_orphans_to_who_needs_a_span_where_adoption_is_off) {
  take(0, 4);
  end_thread(0);
  for (unsigned index = 0; index < 3; ++index) {
    free(1, blocks[index]);
    EXPECT_EQ(owner_of(blocks[3]), 99U);
  }
  EXPECT_EQ(state_of(blocks[3]), span_state::reusable);
  void* const next = allocate(2);
  EXPECT_EQ(owner_of(next), 2U);
  EXPECT_EQ(&span_of(next), &span_of(blocks[3])) << "no other span was needed";
  free(1, blocks[3]);
  check({next});
}

// Fault 2.11-5 of the original: it judged the last free by the epoch from before the adoption.
TEST_F(frontend_with_eight_blocks, returns_a_reusable_orphan_whose_adopter_frees_the_last_block) {
  take(0, 8);
  free(0, {0, 1, 2, 3, 4});
  end_thread(0);
  ASSERT_EQ(state_of(blocks[7]), span_state::reusable);
  free(1, blocks[5]);
  ASSERT_EQ(owner_of(blocks[7]), 1U);
  ASSERT_EQ(state_of(blocks[7]), span_state::reusable);
  free(1, {6, 7});
  EXPECT_EQ(state_of(blocks[7]), span_state::free);
  check({});
}

// Fault 2.11-6 of the original: what a span had been in its last tenure kept it from becoming hot, and an
// empty hot span passed for one to be returned.
TEST_F(frontend_test, makes_a_recycled_span_as_hot_as_a_new_one) {
  take(0, 5);
  free(0, {0, 1, 2, 3, 4});
  ASSERT_EQ(state_of(blocks[0]), span_state::free);
  take(0, 5);
  void* const again = blocks[9];
  ASSERT_EQ(&span_of(again), &span_of(blocks[0]));
  EXPECT_EQ(state_of(again), span_state::hot);
  free(0, again);
  EXPECT_EQ(state_of(again), span_state::hot);
  EXPECT_EQ(allocate(0), again);
}

TEST_F(frontend_test, gives_reusable_orphans_to_who_needs_a_span) {
  take(0, 4);
  free(0, {0, 1, 2});
  end_thread(0);
  EXPECT_EQ(state_of(blocks[3]), span_state::reusable);
  EXPECT_EQ(&span_of(allocate(1)), &span_of(blocks[3]));
  EXPECT_EQ(owner_of(blocks[3]), 1U);
}

TEST_F(frontend_test, recycles_spans_of_others_before_carving_new_ones) {
  take(0, 5);
  free(0, {0, 1, 2, 3});
  std::size_t before = 0, after = 0;
  life.arena.for_each_span([&](auto&) { ++before; });
  take(1, 4);
  life.arena.for_each_span([&](auto&) { ++after; });
  EXPECT_EQ(before, after);
}

TEST_F(frontend_test, refuses_what_is_no_live_block) {
  take(0, 5);
  auto* const inside = static_cast<char*>(blocks[0]) + 16;
  EXPECT_DEATH((free(0, blocks[0]), free(0, blocks[0])), "heaplab: [^\n]*free[^\n]*: 0x");
  EXPECT_DEATH((free(1, blocks[0]), free(1, blocks[0])), "heaplab: [^\n]*free[^\n]*: 0x");
  EXPECT_DEATH(free(1, inside), "heaplab: not a live block: 0x");
  free(0, {0, 1, 2, 3});
  EXPECT_DEATH(free(0, blocks[1]), "heaplab: not a live block: 0x");
}

TEST_F(frontend_test, trims_free_spans) {
  take(0, 5);
  free(0, {0, 1, 2, 3});
  EXPECT_TRUE(life.trim(0));
  EXPECT_FALSE(life.trim(0));
  EXPECT_EQ(*static_cast<char*>(blocks[0]), 0) << "the memory has been given back";
}

TEST_F(frontend_test, is_out_of_memory_when_the_arena_is_full) {
  for (;;) {
    void* block = try_allocate(*labs[0], class_index);
    bool is_zero;
    if (block == nullptr) block = allocate_slow(life, *labs[0], class_index, is_zero);
    if (block == nullptr) break;
    blocks.push_back(block);
  }
  EXPECT_EQ(blocks.size(), four_blocks.arena_bytes / four_blocks.fine_span_bytes * 4);
  for (void* const block : blocks) free(0, block);
  EXPECT_NE(allocate(0), nullptr);
}

}  // namespace
}  // namespace heaplab::scalloc::testing
