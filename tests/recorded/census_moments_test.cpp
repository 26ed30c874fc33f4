#include "recorded/census_moments.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace heaplab {
namespace {

using recorded::census_moments;
using recorded::moment;
using recorded::occasion;

// A curve that goes to each height in turn, by one byte an event.
census_moments curve(const std::vector<int>& heights, std::uint64_t blocks = 10) {
  census_moments found;
  int now = 0;
  for (const int height : heights)
    while (now != height) found.see(static_cast<std::uint64_t>(now += now < height ? 1 : -1), blocks);
  return found;
}

std::vector<std::uint64_t> chosen(const census_moments& of, occasion why) {
  std::vector<std::uint64_t> found;
  for (const moment& chosen : of.chosen())
    if (chosen.why == why) found.push_back(chosen.events);
  return found;
}

using event_counts = std::vector<std::uint64_t>;

TEST(census_moments, finds_the_peak_and_each_trough_after_a_peak) {
  const census_moments found = curve({100, 20, 200, 90, 150, 10});
  EXPECT_EQ(chosen(found, occasion::peak), (event_counts{360}));
  EXPECT_EQ(chosen(found, occasion::trough), (event_counts{183, 473}));  // nearly lowest
}

TEST(census_moments, takes_no_ripple_for_a_trough) {
  EXPECT_EQ(chosen(curve({100, 80, 105, 90, 200, 180, 195}), occasion::trough), event_counts{});
  EXPECT_EQ(chosen(curve({100, 80, 105, 90, 200}), occasion::trough), event_counts{});
  EXPECT_EQ(chosen(curve({300}), occasion::trough), event_counts{});
}

TEST(census_moments, keeps_the_deepest_of_many_troughs) {
  std::vector<int> heights;
  for (int burst = 0; burst < 30; ++burst) heights.insert(heights.end(), {1000, 500 - 10 * burst});
  heights.push_back(1000);
  const census_moments found = curve(heights);
  const event_counts troughs = chosen(found, occasion::trough);
  EXPECT_EQ(troughs.size(), census_moments::most_troughs);
  EXPECT_TRUE(std::is_sorted(troughs.begin(), troughs.end()));
}

// A curve of many more events than are remembered one by one.
TEST(census_moments, remembers_extremes_of_long_recordings) {
  const census_moments found = curve({100'000, 3, 50'000, 7});
  EXPECT_EQ(chosen(found, occasion::peak), (event_counts{100'000}));
  EXPECT_EQ(chosen(found, occasion::trough), (event_counts{201'473}));
}

TEST(census_moments, spreads_samples_evenly_and_names_no_event_twice) {
  const census_moments found = curve({1700});
  const std::vector<moment> all = found.chosen();
  EXPECT_EQ(all.size(), census_moments::most_samples + 1);
  EXPECT_EQ(chosen(found, occasion::sample)[0], 100);
  EXPECT_TRUE(std::is_sorted(all.begin(), all.end(), [](const moment& left, const moment& right) {
    return left.events <= right.events;
  }));
  EXPECT_EQ(curve({1}).chosen(), (std::vector<moment>{{1, occasion::peak}}));
  EXPECT_EQ(census_moments().chosen(), std::vector<moment>{});
}

TEST(census_moments, lists_no_more_survivors_than_memory_can_hold) {
  EXPECT_EQ(curve({100, 20, 100, 20, 90}, census_moments::most_survivors / 3).chosen().size(), 3);
}

}  // namespace
}  // namespace heaplab
