#include "workloads/harness/stepped_sizes.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "probes/off_heap_pages.h"
#include "workloads/harness/shared_options.h"
#include "workloads/harness/usage_error.h"

namespace heaplab::harness {

namespace {

constexpr std::uint64_t most_sizes = 1'000'000;
constexpr range<std::uint64_t> allowed{1, std::uint64_t{1} << 30};

}  // namespace

void stepped_sizes::declare(option_table& options) {
  declare_min_size(options, least_, allowed);
  declare_max_size(options, most_, allowed);
  options.size("step", step_, allowed, "Difference between a size and the next");
  options.choice("distribution", distribution_,
                 {{"uniform", size_distribution::uniform},
                  {"geometric", size_distribution::geometric},
                  {"log-series", size_distribution::log_series},
                  {"falling", size_distribution::falling},
                  {"fisher-f", size_distribution::fisher_f},
                  {"doublings", size_distribution::doublings},
                  {"power-law", size_distribution::power_law}},
                 "How often each size is asked for");
}

void stepped_sizes::check() const {
  if (least_ > most_) throw usage_error("--min-size must not exceed --max-size");
  if (count() > most_sizes)
    throw usage_error("--step: " + std::to_string(count()) +
                      " sizes from --min-size to --max-size, and at most " + std::to_string(most_sizes) +
                      " are possible");
}

double stepped_sizes::weight(std::uint64_t place) const {
  const auto k = static_cast<double>(place);
  const auto size = static_cast<double>(size_at(place));
  switch (distribution_) {
    case size_distribution::uniform:
      return 1;
    case size_distribution::geometric:
      return std::exp2(-k);
    case size_distribution::log_series:
      return std::pow(0.9, k) / k;
    case size_distribution::falling:
      return static_cast<double>(count()) - k + 1;
    case size_distribution::fisher_f:
      return 1 / (std::sqrt(k) * (1 + k));
    case size_distribution::doublings:
      return 1 / size;
    case size_distribution::power_law:
      return 1 / (size * size);
  }
  return 0;
}

double stepped_sizes::mean() const {
  double weights = 0;
  double sum = 0;
  for (std::uint64_t place = 1; place <= count(); ++place) {
    weights += weight(place);
    sum += weight(place) * static_cast<double>(size_at(place));
  }
  return sum / weights;
}

void stepped_sizes::draw(std::span<std::uint32_t> sizes, random_stream random) const {
  probes::off_heap_pages pages(probes::off_heap_pages::needed<double>(count()));
  const std::span<double> up_to = pages.array<double>(count());
  double sum = 0;
  for (std::uint64_t place = 1; place <= count(); ++place) up_to[place - 1] = sum += weight(place);
  for (std::uint32_t& size : sizes) {
    const auto place = std::ranges::upper_bound(up_to, random.fraction() * sum) - up_to.begin();
    const std::uint64_t at = std::min(static_cast<std::uint64_t>(place), count() - 1);
    size = static_cast<std::uint32_t>(size_at(at + 1));
  }
}

}  // namespace heaplab::harness
