// Blocks of another owner's span that a thread gives back together.
#include <gtest/gtest.h>

#include <set>

#include "allocators/scalloc/spans/freed_blocks.h"
#include "concurrent/sync.h"
#include "scalloc/small_heap.h"

namespace heaplab::scalloc::testing {
namespace {

constexpr config two_blocks = hardened_config<2>();
constexpr config sixteen_blocks = hardened_config<16>();
constexpr config five_together = [] {
  config result = hardened_config<16>(1);
  result.remote_batch_blocks = 5;
  return result;
}();
constexpr config one_kib_together = [] {
  config result = hardened_config<16>(1);
  result.remote_batch_bytes = 1024;
  return result;
}();

// Stand for the links and the span of a heap.
struct plain_span {
  plain_links secrets;
};

TEST(remote_batch, links_its_blocks_and_is_empty_before_they_go_back) {
  plain_span span, other;
  void* blocks[4];
  remote_batch<plain_span> batch;
  batch.take([](auto&...) { ADD_FAILURE() << "an empty batch"; });
  EXPECT_FALSE(batch.is_of(span));
  for (unsigned index = 0; index < 3; ++index) {
    index == 0 ? batch.begin(span, &blocks[index]) : batch.add(span, &blocks[index]);
    EXPECT_TRUE(batch.is_of(span));
    EXPECT_FALSE(batch.is_of(other));
    EXPECT_EQ(batch.count(), index + 1);
  }
  unsigned visits = 0;
  batch.take([&](plain_span& of, const freed_chain& chain) {
    ++visits;
    EXPECT_EQ(&of, &span);
    EXPECT_EQ(chain.count(), 3U);
    EXPECT_EQ(chain.newest(), &blocks[2]);
    EXPECT_EQ(chain.oldest(), &blocks[0]);
    EXPECT_EQ(blocks[2], &blocks[1]);
    EXPECT_EQ(blocks[1], &blocks[0]);
    EXPECT_EQ(blocks[0], nullptr);
    batch.take([](auto&...) { ADD_FAILURE() << "given back twice"; });
  });
  EXPECT_EQ(visits, 1U);
  EXPECT_FALSE(batch.is_of(span));
  batch.begin(other, &blocks[3]);
  EXPECT_TRUE(batch.is_of(other));
}

std::uint32_t returned(const auto& span) {
  return span.load_word(std::memory_order_relaxed).remote_count();
}

// Blocks of a span go back together, when a block of another span of the class comes.
TEST(remote_batch, waits_for_blocks_of_one_span) {
  small_heap<concurrent::std_sync, sixteen_blocks> heap(2);
  constexpr unsigned many = 16;
  heap.take(0, 2 * many);
  const auto& blocks = heap.blocks;
  auto& first = heap.span_of(blocks.front());
  auto& second = heap.span_of(blocks.back());
  ASSERT_NE(&first, &second);
  for (unsigned index = 0; index < 3; ++index) heap.free_later(1, blocks[index]);
  EXPECT_EQ(returned(first), 0U);
  heap.free_later(1, blocks[many]);
  EXPECT_EQ(returned(first), 3U);
  EXPECT_EQ(returned(second), 0U);
  heap.free_later(1, blocks[3]);
  EXPECT_EQ(returned(second), 1U);
  // A thread that ends keeps none, and every block can be had again.
  heap.end_thread(1);
  EXPECT_EQ(returned(first), 4U);
  std::set<void*> live(blocks.begin() + 4, blocks.end());
  live.erase(blocks[many]);
  heap.check(live);
}

template <const config& Config>
void expect_full_with(unsigned count) {
  small_heap<concurrent::std_sync, Config> heap(2);
  heap.take(0, count);
  const auto& blocks = heap.blocks;
  auto& span = heap.span_of(blocks.front());
  for (void* const block : blocks) {
    EXPECT_EQ(returned(span), 0U);
    heap.free_later(1, block);
  }
  EXPECT_EQ(returned(span), count);
  // The owner gets every block, those never used before and those that came back.
  std::set<void*> got;
  for (unsigned step = 0; step < 16; ++step) got.insert(heap.allocate(0));
  EXPECT_EQ(got.size(), 16U);
  for (void* const block : blocks) EXPECT_TRUE(got.contains(block));
}

TEST(remote_batch, goes_back_when_it_has_as_many_blocks_or_bytes_as_it_may) {
  expect_full_with<five_together>(5);
  expect_full_with<one_kib_together>(4);
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
