#include <gtest/gtest.h>

#include "workloads/harness/harness.h"

namespace heaplab::harness {
namespace {

TEST(aged_heap, keeps_the_share_that_was_asked_for) {
  const auto live = [](double occupancy, unsigned threads) {
    aged_heap heap({1, occupancy}, {1000, 1000}, threads);
    for (unsigned thread = 0; thread < threads; ++thread) heap.age(thread);
    const std::uint64_t bytes = heap.live_bytes();
    heap.release();
    EXPECT_EQ(heap.live_bytes(), 0U);
    return static_cast<double>(bytes);
  };
  constexpr double all = aged_heap::bytes_before_frees;
  EXPECT_NEAR(live(100, 1), all, all / 1000);
  EXPECT_NEAR(live(50, 1), all / 2, all / 1000);
  EXPECT_NEAR(live(10, 3), all / 10, all / 1000);
  EXPECT_EQ(live(0, 2), 0);
}

TEST(aged_heap, is_read_as_seed_and_occupancy) {
  EXPECT_EQ(aging::read("7:25%").seed, 7U);
  EXPECT_EQ(aging::read("7:25%").occupancy, 25);
  EXPECT_EQ(aging::read("1:0.5").occupancy, 0.5);
  EXPECT_THROW(aging::read("7"), usage_error);
  EXPECT_THROW(aging::read("7:200%"), usage_error);
}

}  // namespace
}  // namespace heaplab::harness
