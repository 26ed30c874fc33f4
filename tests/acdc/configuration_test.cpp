// Bad input: one line that names the option and what it may be, status 2.
#include <gtest/gtest.h>

#include <string>

#include "acdc/run_acdc.h"

namespace heaplab::acdc {
namespace {

void expect_refused(const std::string& arguments, const std::string& line) {
  const auto refused = run_acdc(arguments + " 2>&1");
  EXPECT_EQ(refused.status, 2) << arguments;
  EXPECT_EQ(refused.output, "acdc: " + line + "\n");
}

TEST(configuration, has_the_defaults_of_table1) {
  const std::string sample = sample_of("");
  EXPECT_NE(
      sample.find(
          R"("parameters":{"mode":"acdc","threads":1,"class-objects":0,"min-size":16,"max-size":256,)"
          R"("min-liveness":1,"max-liveness":10,"deallocation-delay":0,"time-quantum":262144,"ticks":50,)"
          R"("max-time-drift":10,"list-ratio":100,"list-order":"allocation","access-live-objects":true,)"
          R"("write-access-ratio":10,"write-iterations":1,"shared-objects":false,"shared-objects-ratio":100,)"
          R"("receiving-threads-ratio":100,"share-each-class":false,"permanent-objects-ratio":0,)"
          R"("pseudo-allocator":"none","historic":false,)"),
      std::string::npos)
      << sample;
}

TEST(configuration, has_the_defaults_of_table6_in_mode_false_sharing) {
  const std::string sample = sample_of("--mode false-sharing --time-quantum 1000");
  for (const char* part : {R"("min-size":10,"max-size":10,"min-liveness":1,"max-liveness":1,)",
                           R"("time-quantum":1000,"ticks":30,)"})
    EXPECT_NE(sample.find(part), std::string::npos) << part << sample;
}

TEST(configuration, refuses_impossible_ranges) {
  expect_refused("--min-size 1KiB --max-size 64",
                 "--min-size: 1KiB is more than --max-size; allowed is 8 to 64");
  expect_refused("--min-size 7", "--min-size: 7 is outside 8 to 1TiB");
  expect_refused("--min-liveness 11", "--min-liveness: 11 is more than --max-liveness; allowed is 1 to 10");
  expect_refused("--deallocation-delay 51",
                 "--deallocation-delay: 51 is more than --ticks; allowed is 0 to 50");
  expect_refused("--max-time-drift 51", "--max-time-drift: 51 is more than --ticks; allowed is 1 to 50");
}

TEST(configuration, refuses_a_duration_within_the_warm_up) {
  expect_refused("--ticks 20",
                 "--ticks: 20 is no longer than the warm-up of 2 x --max-liveness; allowed is 21 or more");
  EXPECT_GT(metric(sample_of("--ticks 21"), "average_memory"), 0);
}

TEST(configuration, refuses_what_the_null_allocator_cannot_do) {
  expect_refused("--pseudo-allocator null --access-live-objects",
                 "--pseudo-allocator null has no objects to access; it allows --no-access-live-objects only");
  expect_refused(
      "--pseudo-allocator null --mode false-sharing",
      "--pseudo-allocator null has no objects to access; --mode false-sharing allows none, compact "
      "or align");
  expect_refused("--pseudo-allocator null --list-order random",
                 "--list-order does not apply to --pseudo-allocator null, which has no objects to link");
  EXPECT_EQ(metric(sample_of("--pseudo-allocator null"), "accessed_objects"), 0);
}

TEST(configuration, refuses_what_does_not_apply) {
  expect_refused("--mode false-sharing --list-ratio 5",
                 "--list-ratio does not apply to --mode false-sharing");
  expect_refused("--historic --mode false-sharing", "--historic does not apply to --mode false-sharing");
  expect_refused("--historic --shared-objects",
                 "--historic allows neither --shared-objects nor --permanent-objects-ratio");
  expect_refused("--historic --max-size 300",
                 "--historic allows powers of two for --min-size and --max-size, not equal to each other");
  for (const char* seed : {"0", "2147482001"})
    expect_refused("--historic --seed " + std::string(seed), "--seed: --historic allows 1 to 2147482000");
}

TEST(configuration, refuses_an_unwritable_accounts_file) {
  expect_refused("--accounts /no/such/folder/x",
                 "--accounts: cannot write to '/no/such/folder/x': No such file or directory");
}

TEST(configuration, refuses_what_the_machine_cannot_hold) {
  const auto refused = run_acdc("--max-size 1TiB --min-size 1GiB 2>&1");
  EXPECT_EQ(refused.status, 2);
  EXPECT_TRUE(refused.output.starts_with("acdc: the objects need about ")) << refused.output;
  EXPECT_EQ(refused.output.find('\n'), refused.output.size() - 1);
  EXPECT_EQ(run_acdc("--max-size 1TiB --min-size 1GiB --pseudo-allocator null >/dev/null").status, 0)
      << "no objects, no memory for them";
}

TEST(configuration, tells_the_memory_that_it_needs) {
  const auto told = run_acdc("--estimate --threads 40 --min-size 1MiB --max-size 4MiB --time-quantum 1GiB");
  EXPECT_EQ(told.status, 0);
  EXPECT_GT(std::stod(told.output.substr(std::string("{\"memory\":").size())), 80.0 * (1 << 30))
      << told.output;
}

}  // namespace
}  // namespace heaplab::acdc
