#include "trace/finish/block_ranges.h"

#include <gtest/gtest.h>

namespace heaplab::trace {
namespace {

TEST(block_ranges, blocks_of_a_heap_are_one_range) {
  block_ranges ranges;
  for (std::uint64_t block = 0; block < 0x100000; block += 0x100) ranges.add(0x7f0000000000 + block, 0x80);
  EXPECT_EQ(ranges.text(), "7f0000000000-7f0000100000");
}

TEST(block_ranges, a_block_reaches_into_each_unit_that_it_touches) {
  block_ranges ranges;
  ranges.add(0x1fff0, 0x11);
  EXPECT_EQ(ranges.text(), "10000-30000");
  ranges.add(0x3ffff, 0);
  EXPECT_EQ(ranges.text(), "10000-40000");
}

TEST(block_ranges, what_was_never_handed_out_stays_a_gap) {
  block_ranges ranges;
  ranges.add(0x500000, 1);
  ranges.add(0x100000, 1);
  ranges.add(0x300000, 0x100000);
  EXPECT_EQ(ranges.text(), "100000-110000 300000-400000 500000-510000");
}

TEST(block_ranges, a_block_over_gaps_merges_what_it_covers) {
  block_ranges ranges;
  ranges.add(0x100000, 1);
  ranges.add(0x300000, 1);
  ranges.add(0x500000, 1);
  ranges.add(0x110000, 0x3f0000);
  EXPECT_EQ(ranges.text(), "100000-510000");
  ranges.add(0x200000, 0x1000);
  EXPECT_EQ(ranges.text(), "100000-510000");
}

TEST(block_ranges, a_block_that_goes_leaves_the_units_that_others_may_touch) {
  block_ranges ranges;
  ranges.add(0x100000, 0x100000);
  ranges.remove(0x120010, 0x40000);
  EXPECT_EQ(ranges.text(), "100000-130000 160000-200000");
  ranges.remove(0x170000, 1);
  EXPECT_EQ(ranges.text(), "100000-130000 160000-200000");
  ranges.remove(0x0, 0x400000);
  EXPECT_EQ(ranges.text(), "");
}

}  // namespace
}  // namespace heaplab::trace
