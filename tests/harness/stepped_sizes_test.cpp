#include "workloads/harness/stepped_sizes.h"

#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "workloads/harness/usage_error.h"

namespace heaplab::harness {
namespace {

// As on the command line: each option is "name value".
stepped_sizes sizes_with(std::initializer_list<std::pair<const char*, const char*>> given) {
  static stepped_sizes sizes;
  sizes = {};
  option_table table;
  sizes.declare(table);
  for (const auto& [name, value] : given)
    for (option& entry : table.options())
      if (entry.name == name) entry.read(value);
  return sizes;
}

std::map<std::uint32_t, double> shares(const stepped_sizes& sizes) {
  std::vector<std::uint32_t> drawn(100'000);
  sizes.draw(drawn, random_stream(7));
  std::map<std::uint32_t, double> found;
  for (const std::uint32_t size : drawn) found[size] += 1.0 / static_cast<double>(drawn.size());
  return found;
}

TEST(stepped_sizes, are_the_multiples_of_the_step_up_to_the_most) {
  const auto found = shares(
      sizes_with({{"min-size", "10"}, {"max-size", "35"}, {"step", "10"}, {"distribution", "uniform"}}));
  ASSERT_EQ(found.size(), 3U);
  for (const std::uint32_t size : {10U, 20U, 30U}) EXPECT_NEAR(found.at(size), 1.0 / 3, 0.01);
}

TEST(stepped_sizes, of_one_size) {
  const stepped_sizes single = sizes_with({{"min-size", "64"}, {"max-size", "64"}});
  EXPECT_EQ(shares(single).size(), 1U);
  EXPECT_EQ(single.mean(), 64);
  EXPECT_EQ(single.bounds().most, 64U);
}

TEST(stepped_sizes, follow_their_distribution) {
  const auto geometric = shares(sizes_with({{"distribution", "geometric"}}));
  EXPECT_NEAR(geometric.at(50) / geometric.at(100), 2, 0.1);
  EXPECT_NEAR(geometric.at(100) / geometric.at(150), 2, 0.1);
  const auto series = shares(sizes_with({{"distribution", "log-series"}}));
  EXPECT_EQ(series.size(), 10U);
  EXPECT_NEAR(series.at(50) / series.at(100), 2 / 0.9, 0.1);
  EXPECT_NEAR(series.at(100) / series.at(200), 2 / 0.81, 0.15);
  const auto fisher = shares(sizes_with({{"distribution", "fisher-f"}}));
  EXPECT_NEAR(fisher.at(50) / fisher.at(200), 2.0 * 5 / 2, 0.25);
  const auto falling = shares(sizes_with({{"distribution", "falling"}}));
  EXPECT_NEAR(falling.at(50) / falling.at(300), 10.0 / 5, 0.1);
  EXPECT_NEAR(falling.at(50) / falling.at(500), 10, 1);
  const auto doublings = shares(sizes_with({{"distribution", "doublings"}}));
  EXPECT_NEAR(doublings.at(50) / doublings.at(400), 8, 0.8);
  const auto power_law = shares(sizes_with({{"distribution", "power-law"}}));
  EXPECT_NEAR(power_law.at(50) / power_law.at(200), 16, 1.6);
}

TEST(stepped_sizes, have_the_mean_of_what_is_drawn) {
  for (const char* name :
       {"uniform", "geometric", "log-series", "falling", "fisher-f", "doublings", "power-law"}) {
    const stepped_sizes sizes = sizes_with({{"distribution", name}});
    double mean = 0;
    for (const auto& [size, share] : shares(sizes)) mean += size * share;
    EXPECT_NEAR(sizes.mean() / mean, 1, 0.01) << name;
  }
}

TEST(stepped_sizes, are_the_same_for_the_same_seed) {
  const stepped_sizes sizes;
  std::vector<std::uint32_t> first(100);
  std::vector<std::uint32_t> second(100);
  sizes.draw(first, random_stream(3, 1));
  sizes.draw(second, random_stream(3, 1));
  EXPECT_EQ(first, second);
}

TEST(stepped_sizes, refuse_more_sizes_than_a_table_holds) {
  EXPECT_NO_THROW(sizes_with({{"min-size", "1"}, {"max-size", "1000000"}, {"step", "1"}}).check());
  EXPECT_THROW(sizes_with({{"min-size", "1"}, {"max-size", "1000001"}, {"step", "1"}}).check(), usage_error);
  EXPECT_THROW(sizes_with({{"min-size", "9"}, {"max-size", "8"}}).check(), usage_error);
}

}  // namespace
}  // namespace heaplab::harness
