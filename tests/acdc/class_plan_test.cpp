#include "workloads/acdc/class_plan.h"

#include <gtest/gtest.h>

#include <map>
#include <utility>
#include <vector>

#include "workloads/acdc/estimate.h"

namespace heaplab::acdc {
namespace {

constexpr int draws = 20'000;

configuration sizes(std::uint64_t least, std::uint64_t most) {
  configuration settings;
  settings.min_size = least;
  settings.max_size = most;
  return settings;
}

TEST(class_plan, object_count_is_the_product_of_the_squares) {
  const configuration settings = sizes(16, 256);
  EXPECT_EQ(object_count(settings, 16, 1), 25U * 100U);
  EXPECT_EQ(object_count(settings, 31, 10), 25U);
  EXPECT_EQ(object_count(settings, 255, 1), 4U * 100U);
  EXPECT_EQ(object_count(settings, 256, 10), 1U);
}

TEST(class_plan, object_count_is_what_was_asked_for) {
  configuration settings;
  settings.objects = 7;
  EXPECT_EQ(object_count(settings, 16, 1), 7U);
}

using bounds = std::vector<std::pair<std::uint64_t, std::uint64_t>>;

bounds octaves_of(std::uint64_t least, std::uint64_t most) {
  const octaves all(sizes(least, most));
  bounds found;
  for (unsigned number = 0; number < all.count(); ++number)
    found.emplace_back(all.least(number), all.most(number));
  return found;
}

TEST(class_plan, octaves_close_with_the_sizes_asked_for) {
  EXPECT_EQ(octaves_of(16, 256), (bounds{{16, 31}, {32, 63}, {64, 127}, {128, 256}}));
  EXPECT_EQ(octaves_of(20, 300), (bounds{{20, 31}, {32, 63}, {64, 127}, {128, 255}, {256, 300}}));
  EXPECT_EQ(octaves_of(512, 512), (bounds{{512, 512}}));
}

TEST(class_plan, draws_every_size_and_liveness_allowed_and_no_other) {
  const configuration settings = sizes(16, 256);
  plan_source source(settings, 1, 0);
  std::map<std::uint64_t, int> by_size;
  std::map<std::uint64_t, int> by_liveness;
  for (int i = 0; i < draws; ++i) {
    const class_plan plan = source.next();
    ++by_size[plan.size];
    ++by_liveness[plan.liveness];
    ASSERT_EQ(plan.count, object_count(settings, plan.size, plan.liveness));
    ASSERT_FALSE(plan.shared);
  }
  EXPECT_EQ(by_size.begin()->first, 16U);
  EXPECT_EQ(by_size.rbegin()->first, 256U);
  EXPECT_EQ(by_size.size(), 241U);
  EXPECT_EQ(by_liveness.size(), 10U);
  for (const auto& [liveness, times] : by_liveness) EXPECT_NEAR(times, draws / 10, draws / 50) << liveness;
  int smallest = 0;
  for (std::uint64_t size = 16; size < 32; ++size) smallest += by_size[size];
  EXPECT_NEAR(smallest, draws / 4, draws / 50) << "octaves are equally likely";
}

// The original had a list in a hundred with a ratio of 0, and one in a hundred fewer than all with 100.
TEST(class_plan, takes_ratios_exactly) {
  for (const double ratio : {0.0, 30.0, 100.0}) {
    configuration settings;
    settings.list_ratio = ratio;
    settings.shared_objects = true;
    settings.shared_objects_ratio = ratio;
    settings.permanent_objects_ratio = ratio;
    plan_source source(settings, 1, 0);
    int lists = 0;
    int shared = 0;
    int lasting = 0;
    for (int i = 0; i < draws; ++i) {
      const class_plan plan = source.next();
      lists += plan.shape == structure::list;
      shared += plan.shared;
      lasting += plan.liveness == permanent;
    }
    const double expected = ratio * draws / 100;
    const double tolerance = ratio == 30 ? draws / 50.0 : 0;
    EXPECT_NEAR(lists, expected, tolerance);
    EXPECT_NEAR(shared, expected, tolerance);
    EXPECT_NEAR(lasting, expected, tolerance);
  }
}

TEST(class_plan, gives_trees_room_for_two_links_and_lists_the_size_asked_for) {
  configuration settings = sizes(8, 8);
  EXPECT_EQ(plan_source(settings, 1, 0).next().size, 8U);
  settings.list_ratio = 0;
  EXPECT_EQ(plan_source(settings, 1, 0).next().size, 16U);
}

TEST(class_plan, differs_between_threads_and_repeats_with_the_seed) {
  const configuration settings = sizes(16, 1 << 20);
  plan_source source(settings, 1, 0);
  plan_source same(settings, 1, 0);
  plan_source other(settings, 1, 1);
  int equal = 0;
  for (int i = 0; i < 100; ++i) {
    const std::uint64_t size = source.next().size;
    EXPECT_EQ(size, same.next().size);
    equal += size == other.next().size;
  }
  EXPECT_LT(equal, 10);
}

// It draws one of 101 percentages, of which the last is a list in any case.
TEST(class_plan, has_the_lists_of_the_original_on_request) {
  configuration settings;
  settings.historic = true;
  settings.list_ratio = 0;
  plan_source source(settings, 1, 0);
  int lists = 0;
  for (int i = 0; i < draws; ++i) lists += source.next().shape == structure::list;
  EXPECT_NEAR(lists, draws / 101, draws / 500);
}

TEST(class_plan, original_random_is_the_minimal_standard) {
  original_random random(1);
  std::uint64_t last = 0;
  for (int i = 0; i < 10'000; ++i) last = random.between(0, 2147483646);
  EXPECT_EQ(last, 1043618065U);  // the check value Park and Miller give
}

TEST(class_plan, estimate_counts_receiving_threads) {
  configuration settings;
  settings.receiving_threads_ratio = 50;
  EXPECT_EQ(receiving_threads(settings), 0U);
  settings.threads = 4;
  EXPECT_EQ(receiving_threads(settings), 2U) << "half of three, rounded";
  settings.threads = 9;
  EXPECT_EQ(receiving_threads(settings), 4U);
  settings.receiving_threads_ratio = 0;
  EXPECT_EQ(receiving_threads(settings), 0U);
  settings.receiving_threads_ratio = 100;
  EXPECT_EQ(receiving_threads(settings), 8U);
}

}  // namespace
}  // namespace heaplab::acdc
