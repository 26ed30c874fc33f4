#include "workloads/local/dimensions.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

namespace heaplab::strategies {
namespace {

std::map<std::string, double> dimensions(const usage& of) {
  harness::measurement measured({}, {});
  add_dimensions(of, measured);
  std::map<std::string, double> all;
  for (const harness::metric& metric : measured.metrics()) all[metric.name] = metric.value;
  return all;
}

TEST(dimensions, of_one_block_replaced_again_and_again) {
  usage of{.accesses = 100, .footprint = 50, .threads = 4};
  of.asked.allocated(50);
  of.asked.replaced(50, 99);
  of.asked.deallocated(50);
  const auto found = dimensions(of);
  EXPECT_DOUBLE_EQ(found.at("density"), 200.0 / 300);
  EXPECT_EQ(found.at("variation"), 0);
  EXPECT_DOUBLE_EQ(found.at("locality_dimension"), 2.0 / 3);
  EXPECT_DOUBLE_EQ(found.at("utilization_dimension"), 0.01);
  EXPECT_DOUBLE_EQ(found.at("contention_dimension"), found.at("density"));
}

TEST(dimensions, contention_needs_two) {
  usage of{.accesses = 1, .footprint = 8};
  of.asked.allocated(8);
  EXPECT_EQ(dimensions(of).at("contention_dimension"), 0);
}

// Ten powers of two alike are the most there is; close sizes count as one.
TEST(dimensions, variation_goes_from_one_size_to_all) {
  const auto variation = [](std::initializer_list<std::size_t> sizes) {
    usage of{.accesses = 1, .footprint = 8};
    for (const std::size_t size : sizes) of.asked.allocated(size);
    return dimensions(of).at("variation");
  };
  EXPECT_EQ(variation({33, 48, 64}), 0);
  EXPECT_NEAR(variation({64, 65}), 0.301, 0.001);
  EXPECT_NEAR(variation({8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096}), 1, 1e-12);
}

TEST(dimensions, locality_falls_with_every_transition) {
  const auto locality = [](double transitions) {
    usage of{.accesses = 10, .transitions = transitions, .footprint = 10};
    of.asked.allocated(10);
    return dimensions(of).at("locality_dimension");
  };
  EXPECT_DOUBLE_EQ(locality(1), 0.5);
  EXPECT_DOUBLE_EQ(locality(3), 0.25);
}

}  // namespace
}  // namespace heaplab::strategies
