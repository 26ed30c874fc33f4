#include "workloads/blowup/live_total.h"

#include <gtest/gtest.h>

#include <thread>

namespace heaplab::blowup {
namespace {

TEST(live_total, remembers_the_most) {
  live_total tested;
  EXPECT_TRUE(tested.add(70));
  EXPECT_TRUE(tested.add(-30));
  EXPECT_TRUE(tested.add(20));
  EXPECT_EQ(tested.most(), 70);
}

TEST(live_total, refuses_what_is_above_the_limit) {
  live_total tested;
  EXPECT_TRUE(tested.add(70, 100));
  EXPECT_FALSE(tested.add(31, 100));
  EXPECT_TRUE(tested.add(30, 100));
  EXPECT_EQ(tested.most(), 100);
}

TEST(live_total, never_counts_what_it_refuses) {
  constexpr std::int64_t limit = 100;
  live_total tested;
  tested.add(limit, limit);
  std::jthread refused([&tested](const std::stop_token& stop) {
    while (!stop.stop_requested()) tested.add(limit, limit);
  });
  for (int i = 0; i < 2'000'000; ++i) {
    tested.add(-1);
    tested.add(1, limit);
  }
  EXPECT_EQ(tested.most(), limit);
}

}  // namespace
}  // namespace heaplab::blowup
