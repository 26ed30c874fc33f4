// What the program of 2013 prints, tick by tick, and in its histograms.
#include <gtest/gtest.h>

#include <string>

#include "acdc/run_acdc.h"

namespace heaplab::acdc {
namespace {

// The tables of a run with the draws of 2013.
std::string accounts_of(const std::string& arguments) {
  const auto done = run_acdc("--historic " + arguments + " --accounts - --json /dev/null");
  EXPECT_EQ(done.status, 0) << arguments;
  return "\n" + done.output;
}

void expect_line(const std::string& accounts, const std::string& line) {
  EXPECT_NE(accounts.find("\n" + line + "\n"), std::string::npos) << line << "\n" << accounts;
}

TEST(golden, allocates_and_frees_as_the_original_tick_by_tick) {
  const std::string accounts = accounts_of("--ticks 100 --no-access-live-objects");
  expect_line(accounts, "1\t290496\t128800\t6532\t4100");
  expect_line(accounts, "2\t560041\t128800\t10941\t4100");
  expect_line(accounts, "3\t830399\t258544\t15397\t5972");
  expect_line(accounts, "30\t8567406\t8091067\t166420\t154057");
  expect_line(accounts, "100\t28699286\t28143894\t525368\t514626");
}

TEST(golden, draws_liveness_and_size_as_the_original) {
  const std::string accounts = accounts_of("--ticks 30 --no-access-live-objects");
  expect_line(
      accounts,
      "liveness\tobjects\n1\t58900\n2\t26082\n3\t25664\n4\t22638\n5\t13680\n6\t9175\n7\t4992\n8\t3285\n"
      "9\t1516\n10\t488\nlog2_size\tobjects\n4\t89575\n5\t44432\n6\t19809\n7\t12604");
  expect_line(accounts_of("--ticks 100 --no-access-live-objects"),
              "liveness\tobjects\n1\t162600\n2\t93150\n3\t89920\n4\t67767\n5\t45252\n6\t31700\n7\t17264\n"
              "8\t11196\n9\t5116\n10\t1403\nlog2_size\tobjects\n4\t249650\n5\t149968\n6\t87246\n7\t38504");
}

// Access and its writes change no count.
TEST(golden, delays_deallocation_as_the_original) {
  for (const char* access : {"--access-live-objects", "--no-access-live-objects"})
    expect_line(accounts_of("--seed 7 --deallocation-delay 3 --ticks 30 " + std::string(access)),
                "30\t8611756\t7229076\t168402\t138545");
}

TEST(golden, mixes_lists_and_trees_as_the_original) {
  expect_line(
      accounts_of("--seed 2 --ticks 50 --min-size 8 --max-size 4KiB --min-liveness 1 --max-liveness 5 "
                  "--time-quantum 1000000 --list-ratio 50 --no-access-live-objects"),
      "50\t54103411\t53798149\t331694\t329076");
}

// The original forgot the last bucket of all threads but the first.
TEST(golden, adds_up_the_histograms_of_all_threads) {
  const std::string accounts = accounts_of("--threads 3 --ticks 30 --no-access-live-objects");
  const std::string sample = sample_of("--historic --threads 3 --ticks 30 --no-access-live-objects");
  for (const char* table : {"\nliveness\tobjects\n", "\nlog2_size\tobjects\n"}) {
    double objects = 0;
    const char* at = accounts.c_str() + accounts.find(table) + std::string(table).size();
    for (char* end; std::strtoul(at, &end, 10), *end == '\t'; at = end + 1) objects += std::strtod(end, &end);
    EXPECT_EQ(objects, metric(sample, "allocated_objects")) << table;
  }
}

}  // namespace
}  // namespace heaplab::acdc
