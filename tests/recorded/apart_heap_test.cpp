#include "workloads/replay/apart_heap.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "base/bits.h"
#include "probes/process_memory.h"

namespace heaplab {
namespace {

using replay::apart_heap;

struct block {
  unsigned char* start = nullptr;
  std::size_t bytes = 0;
  std::size_t alignment = 0;
  unsigned char mark = 0;
};

block take(apart_heap& heap, std::size_t bytes, std::size_t alignment, unsigned char mark) {
  auto* const start = static_cast<unsigned char*>(heap.allocate(bytes, alignment));
  EXPECT_TRUE(is_aligned(start, std::max<std::size_t>(alignment, 16))) << bytes << " " << alignment;
  std::memset(start, mark, bytes);
  return {start, bytes, alignment, mark};
}

// Blocks of all sizes and alignments keep what was written to them.
TEST(apart_heap, gives_blocks_that_overlap_no_other) {
  apart_heap heap;
  std::mt19937 random(1);
  std::vector<block> blocks(3000);
  for (int step = 0; step < 15'000; ++step) {
    block& chosen = blocks[random() % blocks.size()];
    if (chosen.start != nullptr) {
      for (std::size_t at = 0; at < chosen.bytes; ++at) ASSERT_EQ(chosen.start[at], chosen.mark);
      heap.release(chosen.start, chosen.bytes, chosen.alignment);
    }
    const std::size_t bytes = random() % 50 == 0 ? random() % 200'000 : random() % 3000;
    const std::size_t alignment = random() % 4 == 0 ? std::size_t{1} << random() % 17 : 0;
    chosen = take(heap, bytes, alignment, static_cast<unsigned char>(step));
  }
  for (const block& left : blocks)
    if (left.start != nullptr) heap.release(left.start, left.bytes, left.alignment);
}

TEST(apart_heap, gives_back_what_holds_no_block) {
  apart_heap heap;
  const probes::process_memory memory;
  std::vector<block> blocks(100'000, block{.bytes = 1});  // written, so that it is resident
  const std::uint64_t before = memory.read().anonymous;
  for (block& taken : blocks) taken = take(heap, 100, 0, 1);
  EXPECT_GT(memory.read().anonymous, before + 100'000 * 100);
  EXPECT_LT(memory.read().anonymous, before + 100'000 * 130);
  for (const block& taken : blocks) heap.release(taken.start, taken.bytes, taken.alignment);
  EXPECT_LT(memory.read().anonymous, before + (4 << 20));
}

TEST(apart_heap, wastes_little_of_a_block) {
  for (std::size_t bytes = 16; bytes <= apart_heap::largest_small; ++bytes) {
    const std::size_t size = apart_heap::size_of_block(bytes, 0);
    EXPECT_GE(size, bytes);
    EXPECT_LE(size, std::max(bytes + 15, bytes + bytes / 4)) << bytes;
    EXPECT_EQ(apart_heap::size_of_block(size, 0), size);
  }
}

}  // namespace
}  // namespace heaplab
