// Samples by a Poisson process over bytes: the mathematics, and estimates of programs whose truth is known.
#include "recorder/poisson_sampling.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

namespace heaplab::recorder {
namespace {

constexpr std::uint64_t mean = std::uint64_t{512} << 10;

TEST(poisson_sampling, has_its_own_logarithm_and_exponential) {
  for (const std::uint64_t number : {1ULL, 2ULL, 3ULL, 1000ULL, 0x7FFFFFFFFFFFFFFFULL, 0xFFFFFFFFFFFFFFFFULL})
    EXPECT_NEAR(log_of(number), std::log(static_cast<double>(number)), 1e-9) << number;
  for (const double x : {1e-9, 1e-4, 0.1, 0.5, 0.500001, 1.0, 7.5, 39.0, 41.0, 1e6})
    EXPECT_NEAR(one_minus_exp_of_minus(x) / -std::expm1(-x), 1, 1e-9) << x;
}

TEST(poisson_sampling, gaps_are_exponential) {
  std::mt19937_64 random(1);
  constexpr int draws = 100'000;
  double sum = 0;
  std::vector<std::int64_t> gaps;
  for (int draw = 0; draw < draws; ++draw) {
    gaps.push_back(gap_of(random(), mean));
    ASSERT_GE(gaps.back(), 0);
    sum += static_cast<double>(gaps.back());
  }
  // Five standard deviations of the mean, and of the share below a quantile.
  EXPECT_NEAR(sum / draws / mean, 1, 5 / std::sqrt(draws));
  std::ranges::sort(gaps);
  for (const double part : {0.001, 0.1, 0.5, 0.9, 0.999}) {
    const auto bound = static_cast<std::int64_t>(-std::log1p(-part) * mean);
    const auto below = static_cast<double>(std::ranges::lower_bound(gaps, bound) - gaps.begin());
    EXPECT_NEAR(below / draws, part, 5 * std::sqrt(part * (1 - part) / draws)) << part;
  }
}

struct site {
  std::uint64_t least;  // sizes of its blocks
  std::uint64_t most;
  std::uint64_t blocks;
};

// A program's sites: small and large blocks, of one size and of many, and blocks larger than the mean.
std::vector<site> sites_of_program() {
  std::vector<site> found{{0, 0, 20'000},      {16, 16, 40'000},       {64, 64, 20'000},
                          {100, 5000, 10'000}, {4096, 4096, 4000},     {1 << 16, 1 << 16, 300},
                          {1, 1 << 20, 60},    {1 << 20, 1 << 20, 20}, {3 << 20, 5 << 20, 5}};
  for (std::uint64_t more = 0; more < 21; ++more)
    found.push_back({320 + more, 640 * more + 3000, 300 + 90 * more});
  return found;
}

struct sums {
  double truth = 0;
  double bytes = 0;
  double variance = 0;
};

// One run of the program: a thread that calls its sites by turns. Of the blocks of each site every other one
// is released, so that `live` is what a sampled program has at its end.
struct run {
  explicit run(std::uint64_t seed) : random(seed), live(program.size()), until(gap_of(random(), mean)) {
    std::vector<std::uint64_t> left;
    for (const site& each : program) left.push_back(each.blocks);
    for (bool goes_on = true; goes_on;) {
      goes_on = false;
      for (std::size_t number = 0; number < program.size(); ++number)
        for (int burst = 0; burst < 10 && left[number] > 0; ++burst, goes_on = true)
          allocate(number, left[number]--);
    }
  }

  void allocate(std::size_t number, std::uint64_t turn) {
    const site& of = program[number];
    const std::uint64_t size = of.least + random() % (of.most - of.least + 1);
    const bool lives = turn % 2 == 0;
    if (lives) live[number].truth += static_cast<double>(size);
    until -= static_cast<std::int64_t>(size + 1);
    if (until >= 0) return;
    until = gap_of(random(), mean);
    const sampled_amounts amounts = amounts_of_sample(size, mean);
    blocks += static_cast<double>(amounts.blocks) / 256;
    if (!lives) return;
    live[number].bytes += static_cast<double>(amounts.bytes);
    live[number].variance += static_cast<double>(amounts.bytes_variance) / (1 << 20) * mean * mean;
  }

  const std::vector<site> program = sites_of_program();
  std::mt19937_64 random;
  std::vector<sums> live;
  double blocks = 0;
  std::int64_t until;
};

// A limit at 97.5 % of a sum of weighted Poisson counts (Fay and Feuer 1997), by Byar's approximation of the
// gamma distribution.
double limit(double total, double variance, double sign) {
  if (total == 0) return 0;
  const double count = total * total / variance;
  const double root = 1 - 1 / (9 * count) + sign * 1.959964 / (3 * std::sqrt(count));
  return total * root * root * root;
}

bool holds(const sums& of) {
  const double low = of.variance > 0 ? limit(of.bytes, of.variance, -1) : of.bytes;
  const double high = limit(of.bytes + mean, of.variance + static_cast<double>(mean) * mean, 1);
  return low <= of.truth && of.truth <= high;
}

TEST(poisson_sampling, the_truth_of_the_ten_largest_sites_is_in_95_of_100_intervals) {
  constexpr int runs = 100;
  constexpr std::size_t largest = 10;
  int held = 0;
  double error = 0, variance = 0, blocks = 0;
  for (int number = 0; number < runs; ++number) {
    run done(static_cast<std::uint64_t>(number) + 1);
    std::ranges::sort(done.live, std::ranges::greater(), &sums::truth);
    for (std::size_t place = 0; place < done.live.size(); ++place) {
      if (place < largest) held += holds(done.live[place]);
      error += done.live[place].bytes - done.live[place].truth;
      variance += done.live[place].variance;
    }
    blocks += done.blocks;
  }
  EXPECT_GE(held, static_cast<int>(0.95 * runs * largest));
  EXPECT_LE(held, static_cast<int>(0.99 * runs * largest));  // no wider than they have to be
  EXPECT_NEAR(error, 0, 3 * std::sqrt(variance));            // of all runs together: there is no bias
  std::uint64_t true_blocks = 0;
  for (const site& each : sites_of_program()) true_blocks += each.blocks;
  EXPECT_NEAR(blocks / runs / static_cast<double>(true_blocks), 1, 0.05);
}

}  // namespace
}  // namespace heaplab::recorder
