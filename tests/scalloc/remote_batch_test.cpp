// Blocks of another owner's span that a thread gives back together.
#include "allocators/scalloc/hardened/remote_batch.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "concurrent/sync.h"
#include "scalloc/small_heap.h"

namespace heaplab::scalloc::testing {
namespace {

constexpr config two_blocks = hardened_config<2>();
constexpr config sixteen_blocks = hardened_config<16>();

// Stand for the links and the span of a heap.
struct plain_span {
  plain_links secrets;
};

TEST(remote_batch, links_its_blocks_and_is_empty_before_they_go_back) {
  plain_span it, other;
  void* blocks[4];
  remote_batch<plain_span, 3> batch;
  batch.take([](auto&...) { ADD_FAILURE() << "an empty batch"; });
  EXPECT_FALSE(batch.accepts(it));
  for (unsigned index = 0; index < 3; ++index) {
    batch.add(it, &blocks[index]);
    EXPECT_FALSE(batch.accepts(other));
    EXPECT_EQ(batch.accepts(it), index < 2) << index;
  }
  unsigned visits = 0;
  batch.take([&](plain_span& of, const freed_chain& chain) {
    ++visits;
    EXPECT_EQ(&of, &it);
    EXPECT_EQ(chain.count(), 3U);
    EXPECT_EQ(chain.newest(), &blocks[2]);
    EXPECT_EQ(chain.oldest(), &blocks[0]);
    EXPECT_EQ(blocks[2], &blocks[1]);
    EXPECT_EQ(blocks[1], &blocks[0]);
    EXPECT_EQ(blocks[0], nullptr);
    batch.take([](auto&...) { ADD_FAILURE() << "given back twice"; });
  });
  EXPECT_EQ(visits, 1U);
  batch.add(other, &blocks[3]);
  EXPECT_TRUE(batch.accepts(other));
}

// Blocks of a span go back together: once there are so many, or when a block of another span comes.
TEST(remote_batch, waits_for_blocks_of_one_span) {
  small_heap<concurrent::std_sync, sixteen_blocks> heap(2);
  constexpr unsigned most = sixteen_blocks.remote_batch_blocks;
  std::vector<void*> blocks(2 * most);
  for (void*& it : blocks) it = heap.allocate(0);
  auto& one = heap.span_of(blocks.front());
  auto& two = heap.span_of(blocks.back());
  ASSERT_NE(&one, &two);
  const auto returned = [](auto& it) { return it.load_word(std::memory_order_relaxed).remote_count(); };
  for (unsigned index = 0; index < 3; ++index) heap.free_later(1, blocks[index]);
  EXPECT_EQ(returned(one), 0U);
  heap.free_later(1, blocks[most]);
  EXPECT_EQ(returned(one), 3U);
  EXPECT_EQ(returned(two), 0U);
  heap.free_later(1, blocks[3]);
  EXPECT_EQ(returned(two), 1U);
  // A thread that ends keeps none, and every block can be had again.
  heap.end_thread(1);
  EXPECT_EQ(returned(one), 4U);
  std::set<void*> live(blocks.begin() + 4, blocks.end());
  live.erase(blocks[most]);
  heap.check(live);
}

TEST(remote_batch, refuses_more_blocks_than_the_span_has) {
  small_heap<concurrent::std_sync, two_blocks> heap(2);
  void* const first = heap.allocate(0);
  void* const second = heap.allocate(0);
  heap.free_later(1, first);
  heap.free_later(1, second);
  heap.span_of(first).live.begin(heap.span_of(first).secrets.granule_of(first));
  heap.free_later(1, first);
  EXPECT_DEATH(heap.end_thread(1), "free of a block that is free already: 0x");
}

}  // namespace
}  // namespace heaplab::scalloc::testing
