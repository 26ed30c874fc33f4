// The predicates that the preset `paranoid` asserts: each holds of a sound heap and finds a planted fault.
#include <gtest/gtest.h>

#include "concurrent/sync.h"
#include "scalloc/small_heap.h"

namespace heaplab::scalloc::testing {
namespace {

constexpr config eight_blocks = small_config<8>();
using heap = small_heap<concurrent::std_sync, eight_blocks>;
constexpr unsigned index = heap::class_index;

// A hot span with three blocks out and five that may be handed out; one of three was freed again.
struct hot_span {
  hot_span() { all.free(0, blocks[2]); }
  heap all{1};
  void* blocks[3] = {all.allocate(0), all.allocate(0), all.allocate(0)};
  heap::span_type& span = all.span_of(blocks[0]);
};

TEST(invariants, counts_every_block_of_a_sound_span) {
  hot_span hot;
  EXPECT_TRUE(hot.span.counts_every_block());
}

TEST(invariants, miss_a_block_that_is_neither_used_nor_listed) {
  hot_span hot;
  hot.span.local_list = hot.span.secrets.next_of(hot.span.local_list);
  EXPECT_FALSE(hot.span.counts_every_block());
}

TEST(invariants, miss_a_block_that_is_used_and_listed) {
  hot_span hot;
  hot.span.countdown.increment();
  EXPECT_FALSE(hot.span.counts_every_block());
}

TEST(invariants, see_a_local_list_that_runs_in_a_circle) {
  hot_span hot;
  hot.span.secrets.link(hot.span.local_list, hot.span.local_list);
  EXPECT_FALSE(hot.span.counts_every_block());
}

TEST(invariants, see_a_local_list_that_leaves_its_blocks) {
  hot_span hot;
  hot.span.local_list = hot.span.base + 16;
  hot.span.secrets.link(hot.span.local_list, nullptr);
  EXPECT_FALSE(hot.span.counts_every_block());
  hot.span.local_list = hot.span.base + hot.span.fresh * eight_blocks.span_block_limit;
  hot.span.secrets.link(hot.span.local_list, nullptr);
  EXPECT_FALSE(hot.span.counts_every_block());
}

TEST(invariants, know_the_hot_span_of_a_buffer) {
  hot_span hot;
  heap::lab_type other;
  EXPECT_TRUE(hot.span.is_hot_in(*hot.all.labs[0], index));
  EXPECT_FALSE(hot.span.is_hot_in(other, index));
  EXPECT_FALSE(hot.span.is_hot_in(*hot.all.labs[0], index - 1));
  hot.all.labs[0]->floating[index].put_newest(hot.span);
  EXPECT_FALSE(hot.span.is_hot_in(*hot.all.labs[0], index));
}

TEST(invariants, know_a_free_span) {
  heap tested{1};
  void* const block = tested.allocate(0);
  heap::span_type& span = tested.span_of(block);
  EXPECT_FALSE(span.is_free()) << "hot";
  tested.free(0, block);
  tested.end_thread(0);
  EXPECT_TRUE(span.is_free());
  span.set_owner(&*tested.labs[0]);
  EXPECT_FALSE(span.is_free()) << "owned";
  span.set_owner(nullptr);
  tested.labs[0]->floating[index].put_newest(span);
  EXPECT_FALSE(span.is_free()) << "in a list";
}

// A span whose blocks are all out, in the list of floating spans.
struct floating_span {
  floating_span() {
    for (unsigned step = 0; step < 8; ++step) all.allocate(0);
  }
  heap all{1};
  heap::span_type& span = all.span_of(all.allocate(0));
  heap::lab_type& owner = *all.labs[0];
};

TEST(invariants, see_a_list_with_a_span_of_another_buffer_or_class) {
  floating_span floating;
  EXPECT_TRUE(floating.owner.is_valid());
  floating.span.set_owner(&floating.all.life.orphanage);
  EXPECT_FALSE(floating.owner.is_valid());
  floating.span.set_owner(&floating.owner);
  floating.span.class_index.store(0, std::memory_order_relaxed);
  EXPECT_FALSE(floating.owner.is_valid());
}

TEST(invariants, see_a_span_that_is_not_where_its_word_says) {
  floating_span floating;
  EXPECT_TRUE(floating.all.life.is_listed(floating.span));
  floating.owner.floating[index].remove(floating.span);
  EXPECT_FALSE(floating.all.life.is_listed(floating.span));
  floating.owner.reusable[index].put_newest(floating.span);
  EXPECT_FALSE(floating.all.life.is_listed(floating.span));
}

TEST(invariants, see_an_event_that_is_due) {
  floating_span floating;
  EXPECT_TRUE(floating.all.life.has_no_due_event(floating.span));
  floating.span.countdown.set(floating.span.countdown.read_own() - 5);
  EXPECT_FALSE(floating.all.life.has_no_due_event(floating.span));
}

}  // namespace
}  // namespace heaplab::scalloc::testing
