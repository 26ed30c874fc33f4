#include "workloads/harness/random_stream.h"

#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <set>

namespace heaplab::harness {
namespace {

TEST(random_stream, is_the_same_everywhere) {
  random_stream numbers(1);
  const std::array<std::uint64_t, 3> first{numbers.next(), numbers.next(), numbers.next()};
  random_stream again(1);
  for (const std::uint64_t number : first) EXPECT_EQ(again.next(), number);
}

TEST(random_stream, differs_by_seed_and_stream) {
  std::set<std::uint64_t> firsts;
  for (std::uint64_t seed = 0; seed < 10; ++seed)
    for (std::uint64_t stream = 0; stream < 10; ++stream) firsts.insert(random_stream(seed, stream).next());
  EXPECT_EQ(firsts.size(), 100U);
}

TEST(random_stream, covers_its_range_evenly) {
  random_stream numbers(3);
  std::array<int, 10> seen{};
  for (int i = 0; i < 100'000; ++i) ++seen[numbers.between(5, 14) - 5];
  for (const int count : seen) EXPECT_NEAR(count, 10'000, 400);
  EXPECT_EQ(numbers.between(7, 7), 7U);
  numbers.between(0, std::numeric_limits<std::uint64_t>::max());
}

TEST(random_stream, never_and_always_mean_that) {
  random_stream numbers(0);
  int happened = 0;
  for (int i = 0; i < 10'000; ++i) {
    EXPECT_FALSE(numbers.chance(0));
    EXPECT_TRUE(numbers.chance(100));
    happened += numbers.chance(25) ? 1 : 0;
  }
  EXPECT_NEAR(happened, 2500, 200);
}

}  // namespace
}  // namespace heaplab::harness
