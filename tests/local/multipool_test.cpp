#include "heaplab/local/multipool.h"

#include <gtest/gtest.h>

#include <vector>

#include "heaplab/local/counting.h"
#include "heaplab/local/multipool_over_monotonic.h"

namespace heaplab::local {
namespace {

using counted = multipool<counting<>>;

constexpr std::size_t link_bytes = sizeof(block_list::link);
// From the alignment that upstream gives to that of a cache line.
constexpr std::size_t to_cache_line = 48;

TEST(multipool, a_block_taken_back_is_the_next_to_be_handed_out) {
  multipool<> source;
  void* first = source.allocate(24, 8);
  void* second = source.allocate(24, 8);
  source.deallocate(first, 24, 8);
  source.deallocate(second, 24, 8);
  EXPECT_EQ(source.allocate(20, 4), second);
  EXPECT_EQ(source.allocate(24, 8), first);
}

TEST(multipool, sizes_of_one_class_share_a_pool_and_others_do_not) {
  multipool<> source;
  void* block = source.allocate(65, 1);
  source.deallocate(block, 65, 1);
  EXPECT_NE(source.allocate(64, 1), block);
  EXPECT_NE(source.allocate(81, 1), block);
  EXPECT_EQ(source.allocate(80, 16), block);
}

// How many blocks of 128 bytes each chunk holds, until there are 45.
std::vector<std::size_t> blocks_of_chunks(growth chunk_growth) {
  counting<> upstream;
  counted source({.largest_chunk = 1024, .chunk_growth = chunk_growth}, upstream);
  std::vector<std::size_t> blocks;
  for (int i = 0; i < 45; ++i) {
    const std::size_t before = upstream.counts().total_bytes;
    (void)source.allocate(128, 8);
    const std::size_t chunk = upstream.counts().total_bytes - before;
    if (chunk != 0) blocks.push_back((chunk - link_bytes) / 128);
  }
  return blocks;
}

TEST(multipool, every_second_chunk_doubles_up_to_the_largest) {
  EXPECT_EQ(blocks_of_chunks(growth::geometric),
            (std::vector<std::size_t>{1, 1, 1, 1, 2, 2, 4, 4, 8, 8, 8, 8}));
}

TEST(multipool, each_chunk_doubles_or_none_as_the_options_say) {
  EXPECT_EQ(blocks_of_chunks(growth::doubling), (std::vector<std::size_t>{1, 2, 4, 8, 8, 8, 8, 8}));
  EXPECT_EQ(blocks_of_chunks(growth::constant), std::vector<std::size_t>(45, 1));
}

TEST(multipool, the_first_chunk_fills_a_cache_line) {
  counting<> upstream;
  counted source({}, upstream);
  for (int i = 0; i < 8; ++i) (void)source.allocate(8, 8);
  EXPECT_EQ(upstream.counts().total_bytes, 64 + link_bytes);
}

TEST(multipool, a_chunk_holds_at_least_one_block) {
  counting<> upstream;
  counted source({.largest_chunk = 1}, upstream);
  for (int i = 0; i < 3; ++i) (void)source.allocate(4096, 8);
  EXPECT_EQ(upstream.counts().allocations, 3);
  EXPECT_EQ(upstream.counts().total_bytes, 3 * (4096 + link_bytes + to_cache_line));
}

TEST(multipool, blocks_carry_no_header) {
  counting<> upstream;
  counted source({}, upstream);
  constexpr std::size_t count = 100000;
  for (std::size_t i = 0; i < count; ++i) (void)source.allocate(32, 8);
  // Beyond the blocks: the chunks' links and the part of the last chunk still to be used.
  EXPECT_LT(upstream.counts().live_bytes, count * 32 * 101 / 100);
}

TEST(multipool, blocks_of_a_cache_line_lie_on_cache_lines) {
  multipool<> source;
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(source.allocate(64, 8)) % 64, 0);
  }
}

TEST(multipool, large_blocks_pass_through_and_come_back_at_once) {
  counting<> upstream;
  counted source({}, upstream);
  void* large = source.allocate(4097, 8);
  void* larger = source.allocate(100000, 8);
  void* aligned = source.allocate(8, 128);
  EXPECT_EQ(upstream.counts().live_blocks(), 3);
  source.deallocate(larger, 100000, 8);
  source.deallocate(large, 4097, 8);
  source.deallocate(aligned, 8, 128);
  EXPECT_EQ(upstream.counts().live_bytes, 0);
  (void)source.allocate(4096, 64);
  EXPECT_EQ(upstream.counts().live_blocks(), 1);
}

TEST(multipool, grown_chunks_stay_grown_after_release) {
  counting<> upstream;
  counted source({.largest_chunk = 1024}, upstream);
  for (int i = 0; i < 45; ++i) (void)source.allocate(128, 8);
  source.release();
  const std::size_t before = upstream.counts().total_bytes;
  (void)source.allocate(128, 8);
  EXPECT_EQ(upstream.counts().total_bytes - before, 1024 + link_bytes + to_cache_line);
}

TEST(multipool, above_a_one_way_source_it_keeps_no_links) {
  counting<> upstream;
  monotonic<counting<>> arena({.first_chunk = std::size_t{1} << 16}, upstream);
  multipool<monotonic<counting<>>> source({.largest_chunk = 4096}, arena);
  for (int i = 0; i < 3; ++i) (void)source.allocate(4096, 8);
  (void)source.allocate(8192, 8);
  const std::size_t used = (std::size_t{1} << 16) - arena.room();
  EXPECT_LE(used - 3 * 4096 - 8192, 4 * 64) << "more than a cache line a chunk";
}

TEST(multipool, over_monotonic_reuses_small_blocks_and_not_large_ones) {
  multipool_over_monotonic<> source;
  void* small = source.allocate(100, 8);
  void* large = source.allocate(5000, 8);
  source.deallocate(small, 100, 8);
  source.deallocate(large, 5000, 8);
  EXPECT_EQ(source.allocate(100, 8), small);
  EXPECT_NE(source.allocate(5000, 8), large);
}

TEST(multipool, over_monotonic_its_options_reach_both) {
  counting<> upstream;
  multipool_over_monotonic<counting<>> source(
      {.arena = {.first_chunk = 2048}, .pools = {.largest_chunk = 128}}, upstream);
  for (int i = 0; i < 4; ++i) (void)source.allocate(128, 8);
  EXPECT_EQ(upstream.counts().total_bytes, 2048 + link_bytes);
}

}  // namespace
}  // namespace heaplab::local
