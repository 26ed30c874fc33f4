#include "workloads/harness/series.h"

#include <gtest/gtest.h>

#include <array>

namespace heaplab::harness {
namespace {

TEST(series, keeps_all_points_that_fit) {
  std::array<point, 4> room;
  series some("memory", "B", room);
  for (int i = 0; i < 4; ++i) some.add(i, i * 10);
  ASSERT_EQ(some.points().size(), 4U);
  EXPECT_EQ(some.points()[3].time, 3);
  EXPECT_EQ(some.points()[3].value, 30);
}

TEST(series, thins_out_evenly) {
  std::array<point, 8> room;
  series some("memory", "B", room);
  for (int i = 0; i < 100; ++i) some.add(i, i);
  const auto points = some.points();
  ASSERT_GE(points.size(), 4U);
  const double distance = points[1].time - points[0].time;
  for (std::size_t i = 0; i < points.size(); ++i)
    EXPECT_EQ(points[i].time, static_cast<double>(i) * distance);
  EXPECT_GT(points.back().time, 100 - 2 * distance);
}

}  // namespace
}  // namespace heaplab::harness
