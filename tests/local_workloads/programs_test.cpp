// The command lines of the benchmarks, seen from outside.
#include <gtest/gtest.h>

#include <algorithm>

#include "local_workloads/run.h"
#include "support/sample.h"

namespace heaplab::strategies {
namespace {

using testing::outcome;

void expect_done(const std::string& command) {
  const outcome done = run(command + " --no-counters --json -");
  EXPECT_EQ(done.status, 0) << command << "\n" << done.output;
  EXPECT_TRUE(done.output.starts_with(R"({"schema":1,)")) << command << "\n" << done.output;
  for (const char* name : {"cpu_time", "wall_time", "peak_memory", "density", "variation",
                           "locality_dimension", "utilization_dimension", "contention_dimension"})
    EXPECT_GE(metric(done, name), 0) << command << ": " << name;
}

TEST(programs, run_under_every_strategy) {
  for (const std::string word : words)
    expect_done("growth --elements 64 --operations 8192 --structure DS12 --strategy " + word);
  for (const std::string word : destroying_words) {
    expect_done("utilization --total 1MiB --active 64KiB --strategy " + word);
    expect_done("utilization --total 1MiB --active 64KiB --size 8KiB --buffer 64KiB --strategy " + word);
    expect_done(
        "utilization --total 1MiB --active 64KiB --size 8KiB --least-size 16 --random-order --strategy " +
        word);
    expect_done("contention --allocations 500 --restarts 2 --threads 2 --strategy " + word);
    expect_done("contention --allocations 500 --restarts 2 --no-initial-buffer --strategy " + word);
    expect_done("locality --elements-total 4096 --subsystems 16 --shuffle-factor 2 --strategy " + word);
    expect_done("locality --elements-total 4096 --subsystems 4096 --shuffle-factor -2 --strategy " + word);
  }
}

void expect_refused(const std::string& program, const std::string& arguments, const std::string& line) {
  const outcome refused = run(program + " " + arguments);
  EXPECT_EQ(refused.status, 2) << arguments;
  EXPECT_EQ(refused.output, program + ": " + line + "\n");
}

TEST(programs, refuse_what_they_do_not_know) {
  const outcome strategy = run("growth --strategy AS15");
  EXPECT_EQ(strategy.status, 2);
  EXPECT_TRUE(strategy.output.starts_with("growth: --strategy: 'AS15' is not AS1, AS2, ")) << strategy.output;
  EXPECT_EQ(std::count(strategy.output.begin(), strategy.output.end(), '\n'), 1);
  const outcome structure = run("growth --structure DS13");
  EXPECT_EQ(structure.status, 2);
  EXPECT_TRUE(structure.output.starts_with("growth: --structure: 'DS13' is not DS1, DS2, "))
      << structure.output;
}

TEST(programs, refuse_what_cannot_be) {
  expect_refused("growth", "--elements 63", "--elements: 63 is outside 64 to 65536");
  expect_refused("growth", "--structure DS5 --elements 64 --operations 8191",
                 "--operations: one structure has 8192 leaves, and no fewer are possible");
  expect_refused("growth", "--freed 101", "--freed: 101 is outside 0% to 100%");
  expect_refused("utilization", "--total 1KiB --active 2KiB", "--active must not exceed --total");
  expect_refused("utilization", "--active 1KiB --size 2KiB", "--size must not exceed --active");
  expect_refused("utilization", "--size 1KiB --least-size 2KiB", "--least-size must not exceed --size");
  expect_refused("utilization", "--strategy AS4",
                 "--strategy: AS4 winks out, which is nothing beside the blocks freed before");
  expect_refused("contention", "--strategy pmr-pool-wink",
                 "--strategy: pmr-pool-wink winks out, which is nothing beside the blocks freed before");
  expect_refused("contention", "--threads 0", "--threads: 0 is outside 1 to 1024");
  expect_refused("locality", "--strategy AS14",
                 "--strategy: AS14 winks out, and the end of the lists is not measured");
  expect_refused("locality", "--elements-total 100 --subsystems 7",
                 "--subsystems must divide --elements-total");
  expect_refused("locality", "--shuffle-factor -1001", "--shuffle-factor: -1001 is outside -1000 to 1000");
  expect_refused("locality", "--access-factor 65536 --repeat-factor 65536",
                 "--access-factor times --repeat-factor must not exceed 1073741824");
}

double estimate(const std::string& command) {
  const outcome done = run(command + " --estimate");
  const std::string begin = "{\"memory\":";
  EXPECT_EQ(done.status, 0) << done.output;
  EXPECT_TRUE(done.output.starts_with(begin) && done.output.ends_with("}\n")) << done.output;
  return std::stod(done.output.substr(begin.size()));
}

TEST(programs, refuse_what_the_machine_has_no_memory_for) {
  const std::string huge = "utilization --total 16TiB --strategy ";
  const outcome refused = run(huge + "AS3");
  EXPECT_EQ(refused.status, 2);
  EXPECT_TRUE(refused.output.starts_with(
      "utilization: blocks of --size that are not used again need about 16384 GiB of memory, and "))
      << refused.output;
  EXPECT_EQ(estimate(huge + "AS3"), 0x1p44);
  EXPECT_EQ(estimate(huge + "AS7"), 0x1p20);
  EXPECT_EQ(estimate(huge + "AS11"), 0x1p20);
  EXPECT_EQ(estimate(huge + "AS11 --size 8KiB"), 0x1p44);
}

// Near enough to tell what fits: within a factor of two of what is then used.
TEST(programs, estimate_what_they_use) {
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  for (const char* command :
       {"growth --structure DS2 --elements 65536 --operations 65536",
        "growth --structure DS2 --elements 65536 --operations 65536 --strategy AS3",
        "growth --structure DS4 --elements 65536 --operations 65536 --strategy AS7",
        "growth --structure DS8 --elements 512 --operations 65536 --strategy AS13",
        "growth --structure DS7 --elements 4096 --operations 524288",
        "growth --structure DS11 --elements 4096 --operations 524288 --strategy AS5",
        "growth --structure DS1 --elements 64 --fragments 65536", "utilization --total 64MiB --strategy AS5",
        "contention --allocations 100k --size 256 --strategy AS3",
        "locality --elements-total 512k --subsystems 512 --shuffle-factor 3 --repeat-factor 1",
        "locality --elements-total 512k --subsystems 512 --shuffle-factor 3 --repeat-factor 1 --strategy AS5",
        "locality --elements-total 64k --subsystems 64k --shuffle-factor 3 --repeat-factor 1 --strategy "
        "AS7"}) {
    const double used = metric(run(std::string(command) + " --json -"), "peak_memory");
    EXPECT_LE(estimate(command), 2 * used) << command;
    EXPECT_GE(estimate(command), used / 2) << command;
  }
#endif
}

TEST(programs, do_the_work_they_were_given) {
  EXPECT_EQ(metric(run("growth --structure DS6 --elements 64 --operations 20000 --json -"), "repetitions"),
            2);
  const outcome few = run("utilization --total 1MiB --active 256KiB --size 1KiB --json -");
  EXPECT_EQ(metric(few, "allocations"), 1024);
  EXPECT_EQ(metric(few, "utilization_dimension"), 0.25);
  EXPECT_EQ(metric(few, "variation"), 0);
  const outcome mixed =
      run("utilization --total 1MiB --active 256KiB --size 1023 --least-size 1 --random-order --json -");
  EXPECT_EQ(metric(mixed, "allocations"), 2048);
  EXPECT_NEAR(metric(mixed, "utilization_dimension"), 0.25, 0.02);
  EXPECT_GT(metric(mixed, "variation"), 0.1);
  const outcome threads = run("contention --threads 3 --allocations 100 --restarts 7 --json -");
  EXPECT_EQ(metric(threads, "pairs"), 2100);
  EXPECT_GT(metric(threads, "contention_dimension"), 0.6);
  EXPECT_EQ(metric(run("contention --allocations 10 --json -"), "contention_dimension"), 0);
  const outcome lists =
      run("locality --elements-total 1000 --subsystems 10 --access-factor 3 --repeat-factor 5 --json -");
  EXPECT_EQ(metric(lists, "accesses"), 15000);
  EXPECT_GT(metric(lists, "shuffle_time"), 0);
  EXPECT_EQ(metric(run("locality --shuffle-factor 0 --repeat-factor 1 --json -"), "shuffle_time"), 0);
}

// P0089, section 7: what the structures stand for.
TEST(programs, growth_has_the_dimensions_of_the_paper) {
  const auto dimension = [](const std::string& structure, const std::string& name) {
    return metric(run("growth --elements 1024 --operations 131072 --json - --structure " + structure), name);
  };
  EXPECT_LT(dimension("DS1", "density"), 0.01);
  EXPECT_GT(dimension("DS2", "density"), 0.6);
  EXPECT_EQ(dimension("DS1", "variation"), 0);
  EXPECT_LT(dimension("DS3", "variation"), 0.01);
  EXPECT_GT(dimension("DS2", "variation"), 0.5);
  EXPECT_EQ(dimension("DS6", "utilization_dimension"), 1);
}

TEST(programs, heap_arena_needs_a_heap_that_has_arenas) {
  const outcome failed = run("growth --strategy heap-arena");
  EXPECT_EQ(failed.status, 1);
  EXPECT_TRUE(failed.output.starts_with("growth: --strategy heap-arena: /")) << failed.output;
  EXPECT_TRUE(failed.output.ends_with(", which serves malloc, has no arenas to destroy as a whole\n"))
      << failed.output;
}

}  // namespace
}  // namespace heaplab::strategies
