// Samples of blocks by a Poisson process over the bytes that a thread allocates: points lie at exponentially
// distributed distances, and a block that a point falls into is a sample. A block of n bytes counts as n + 1,
// so that there are samples of empty blocks too. It is sampled with probability p = 1 - exp(-(n + 1) / mean),
// independent of all others, and as a sample stands for 1 / p blocks of its size: estimates by Horvitz and
// Thompson, which are unbiased. A sample adds (1 - p) / p^2 to the variance of the estimated number of
// blocks, and n^2 times that to the variance of their bytes.
//
// The recorder has no mathematical library, which would be one more in every program. The series below are
// as exact as a double for this purpose: relative errors are below 1e-9.
#pragma once

#include <bit>
#include <cstdint>

#include "base/assertion.h"

namespace heaplab::recorder {

// Natural logarithm of a number of 1 or more.
constexpr double log_of(std::uint64_t number) {
  constexpr double ln_2 = 0.693147180559945309417;
  const auto exponent = static_cast<int>(std::bit_width(number)) - 1;
  const double mantissa = static_cast<double>(number) / static_cast<double>(std::uint64_t{1} << exponent);
  // 2 atanh((m - 1) / (m + 1)), whose argument is at most 1/3
  const double t = (mantissa - 1) / (mantissa + 1);
  double sum = 0;
  for (int power = 19; power > 0; power -= 2) sum = sum * t * t + 1.0 / power;
  return exponent * ln_2 + 2 * t * sum;
}

// 1 - exp(-x) for x of 0 or more.
constexpr double one_minus_exp_of_minus(double x) {
  if (x > 40) return 1;
  if (x > 0.5) {
    const double half = one_minus_exp_of_minus(x / 2);
    return half * (2 - half);
  }
  double sum = 0;
  for (int term = 12; term > 0; --term) sum = (1 - sum) * x / term;
  return sum;
}

// The distance to the next point, of a pseudorandom number whose bits are all random.
constexpr std::int64_t gap_of(std::uint64_t random, std::uint64_t mean) {
  constexpr double ln_of_all = 44.361419555836498;  // 2^64
  const double exponential = ln_of_all - log_of(random | 1);
  return static_cast<std::int64_t>(exponential * static_cast<double>(mean));
}

// What a sample adds to the amounts of raw_site, in the units there.
struct sampled_amounts {
  std::uint64_t bytes;
  std::uint64_t blocks;
  std::uint64_t bytes_variance;
  std::uint64_t blocks_variance;
};

constexpr sampled_amounts amounts_of_sample(std::uint64_t size, std::uint64_t mean) {
  HEAPLAB_ASSERT(mean > 0);
  const auto in_means = [=](double bytes) { return bytes / static_cast<double>(mean); };
  const auto scaled = [](double number, unsigned bits) {
    const double exact = number * static_cast<double>(std::uint64_t{1} << bits);
    const auto whole = static_cast<std::uint64_t>(exact);
    return whole + (exact - static_cast<double>(whole) >= 0.5 ? 1 : 0);
  };
  const auto bytes = static_cast<double>(size);
  const double p = one_minus_exp_of_minus(in_means(bytes + 1));
  const double variance = (1 - p) / (p * p);
  return {scaled(bytes / p, 0), scaled(1 / p, 8), scaled(variance * in_means(bytes) * in_means(bytes), 20),
          scaled(in_means(in_means(variance)), 40)};
}

}  // namespace heaplab::recorder
