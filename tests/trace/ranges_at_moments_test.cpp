#include "trace/finish/ranges_at_moments.h"

#include <gtest/gtest.h>

namespace heaplab::trace {
namespace {

constexpr std::uint64_t mib = 1 << 20;

event block_at(std::uint64_t stamp, std::uint64_t address, std::uint64_t size) {
  return {.stamp = stamp, .address = address, .size = size, .thread = 1, .kind = kind::malloc};
}

event no_block_at(std::uint64_t stamp, std::uint64_t address) {
  return {.stamp = stamp, .address = address, .thread = 1, .kind = kind::free};
}

TEST(ranges_at_moments, a_moment_knows_the_events_up_to_it) {
  ranges_at_moments ranges({{10, 100}, {20, 200}});
  ranges.see(block_at(5, mib, 8));
  ranges.see(block_at(10, 3 * mib, 8));
  ranges.see(block_at(21, 5 * mib, 8));
  EXPECT_EQ(ranges.text(), "100 100000-110000 300000-310000\n200 100000-110000 300000-310000\n");
}

TEST(ranges_at_moments, moments_behind_the_last_event_and_blocks_from_before_count) {
  ranges_at_moments ranges({{10, 100}, {20, 200}});
  ranges.lived(mib, 8);
  EXPECT_EQ(ranges.text(), "100 100000-110000\n200 100000-110000\n");
}

TEST(ranges_at_moments, a_failed_call_has_no_block) {
  ranges_at_moments ranges({{10, 100}});
  ranges.see(block_at(5, 0, 8));
  EXPECT_EQ(ranges.text(), "100 \n");
}

TEST(ranges_at_moments, freed_memory_is_retained_but_for_blocks_that_glibc_maps_one_by_one) {
  ranges_at_moments ranges({{4, 100}, {10, 200}});
  ranges.see(block_at(1, mib, mib));            // of an arena, or of another allocator
  ranges.see(block_at(2, 4 * mib + 16, mib));   // mapped: behind a header at the begin of a page
  ranges.see(block_at(3, 8 * mib + 16, 4096));  // too small to be mapped
  ranges.see(no_block_at(5, mib));
  ranges.see(no_block_at(6, 4 * mib + 16));
  ranges.see(no_block_at(7, 8 * mib + 16));
  EXPECT_EQ(ranges.text(),
            "100 100000-200000 400000-510000 800000-810000\n"
            "200 100000-200000 400000-410000 500000-510000 800000-810000\n");
}

}  // namespace
}  // namespace heaplab::trace
