// The command lines of the workloads, seen from outside.
#include "workloads/programs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "support/sample.h"

namespace heaplab {
namespace {

using testing::outcome;

class programs_test : public ::testing::TestWithParam<program> {};

TEST_P(programs_test, runs_and_reports) {
  const bool timed = GetParam().times_calls;
  const outcome done = run_program(
      GetParam().name, std::string(GetParam().brief) + (timed ? " --latency --json -" : " --json -"));
  EXPECT_EQ(done.status, 0) << done.output;
  EXPECT_TRUE(done.output.starts_with(R"({"schema":1,"workload":")" + std::string(GetParam().name) + '"'));
  EXPECT_EQ(std::count(done.output.begin(), done.output.end(), '\n'), 1);
  for (const char* part : {R"("wall_time":{)", R"("served_by":{)"})
    EXPECT_TRUE(done.output.find(part) != std::string::npos) << part << "\n" << done.output;
  EXPECT_EQ(done.output.find(R"("allocation_latency_p50":{)") != std::string::npos, timed) << done.output;
}

TEST_P(programs_test, runs_on_an_aged_heap) {
  const outcome done = run_program(GetParam().name, std::string(GetParam().brief) + " --aged 3:30% --json -");
  EXPECT_EQ(done.status, 0) << done.output;
  EXPECT_TRUE(done.output.find(R"("aged":"3:30%")") != std::string::npos) << done.output;
  EXPECT_TRUE(done.output.find(R"("aged_memory":{"value":)") != std::string::npos) << done.output;
}

TEST_P(programs_test, refuses_what_it_does_not_know) {
  const outcome refused = run_program(GetParam().name, "--frobnicate");
  EXPECT_EQ(refused.status, 2);
  EXPECT_EQ(refused.output, std::string(GetParam().name) + ": unknown option --frobnicate; see --help\n");
}

TEST_P(programs_test, shows_an_example_that_is_accepted) {
  const outcome help = run_program(GetParam().name, "--help");
  const std::string begin = std::string("Example: ") + GetParam().name;
  const std::size_t at = help.output.find(begin);
  ASSERT_NE(at, std::string::npos) << help.output;
  const std::size_t end = help.output.find('\n', at);
  const std::string example = help.output.substr(at + begin.size(), end - at - begin.size());
  EXPECT_EQ(run_program(GetParam().name, example + " " + GetParam().brief).status, 0) << example;
}

INSTANTIATE_TEST_SUITE_P(all, programs_test, ::testing::ValuesIn(programs),
                         [](const auto& of) { return std::string(of.param.name); });

TEST(programs, help_tells_where_the_upper_bound_is_excluded) {
  for (const program& measured : programs) {
    const std::string help = run_program(measured.name, "--help").output;
    const bool told = help.find("Every object is smaller than this") != std::string::npos;
    EXPECT_EQ(told, measured.name == std::string("larson") || measured.name == std::string("shbench"))
        << help;
  }
}

// Refused with status 2 and one line that says exactly this.
void expect_refused(const char* name, const char* arguments, const std::string& line) {
  const outcome refused = run_program(name, arguments);
  EXPECT_EQ(refused.status, 2) << arguments;
  EXPECT_EQ(refused.output, std::string(name) + ": " + line + "\n");
}

TEST(programs, refusals_name_the_options_that_do_not_go_together) {
  expect_refused("threadtest", "--threads 4 --round-objects 3",
                 "--round-objects must not be fewer than --threads");
  expect_refused("shbench", "--threads 4 --calls 3", "--calls must not be fewer than --threads");
  expect_refused("shbench", "--min-size 8 --size-limit 8",
                 "--min-size must be below --size-limit, which itself is never requested");
  expect_refused("larson", "--min-size 8 --size-limit 8",
                 "--min-size must be below --size-limit, which itself is never requested");
  expect_refused("active_false", "--threads 4 --repetitions 3",
                 "--repetitions must not be fewer than --threads");
  expect_refused("churn", "--min-size 9 --max-size 8", "--min-size must not exceed --max-size");
  expect_refused("churn", "--step 1 --max-size 1GiB",
                 "--step: 1073741775 sizes from --min-size to --max-size, and at most 1000000 are possible");
  expect_refused("producer_consumer", "--min-size 9 --max-size 8", "--min-size must not exceed --max-size");
  expect_refused("asymmetric", "--producers 4 --total-objects 3",
                 "--total-objects must not be fewer than --producers");
  expect_refused("blowup", "--pattern remote --threads 3",
                 "--pattern remote needs an even number of --threads");
  expect_refused("blowup", "--pattern shift --stays 5", "--stays needs --pattern phases or survivor");
  expect_refused("blowup", "--pattern shift --sizes 5", "--sizes needs --pattern spread");
}

TEST(programs, refusals_of_an_aged_heap) {
  const std::string rest = " is not SEED:OCCUPANCY (1:50%); the occupancy is 0% to 100%";
  for (const char* wrong : {"5", "x:50%", "1:101%", "1:", ":50"})
    expect_refused("threadtest", ("--aged " + std::string(wrong)).c_str(),
                   "--aged: '" + std::string(wrong) + "'" + rest);
}

TEST(programs, refusals_of_chains) {
  expect_refused("speed", "--chain malloc-bogus-free",
                 "--chain: the step 'bogus' is not malloc, calloc, realloc or free; steps are joined by '-'");
  expect_refused("speed", "--chain malloc-calloc",
                 "--chain: step 2 would lose the object of the step before; free it first");
  for (const char* chain : {"malloc", "free", "realloc-free --time-leftovers"})
    expect_refused(
        "speed", (std::string("--rounds 2 --chain ") + chain).c_str(),
        "--rounds: more than 1 is for chains that begin with malloc or calloc, and that end with free or "
        "have --time-leftovers");
}

TEST(programs, refusals_of_more_threads_than_the_system_gives) {
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // their shadow memory exceeds any limit
  const outcome refused = testing::run_command(
      std::string("ulimit -v 500000; ") + PROGRAMS +
      "/memory --producers 16 --consumers-per-producer 16 --objects-per-consumer 10 2>&1");
  EXPECT_EQ(refused.status, 2);
  EXPECT_EQ(refused.output,
            "memory: --producers and --consumers-per-producer: 272 threads: cannot create a thread: "
            "Resource temporarily unavailable\n");
#endif
}

// The work is the same however many threads do it, where they divide it.
TEST(programs, work_is_divided_among_threads) {
  for (const char* threads : {"1", "4"}) {
    const std::string with = std::string("--json - --threads ") + threads;
    EXPECT_EQ(metric(run_program("threadtest", with + " --rounds 2 --round-objects 400"), "pairs"), 800);
    EXPECT_EQ(metric(run_program("shbench", with + " --calls 8 --min-size 1 --size-limit 8"), "pairs"),
              8 * 2250);
    EXPECT_EQ(
        metric(run_program("active_false", with + " --iterations 5 --repetitions 40 --size 8"), "accesses"),
        5 * 40 * 8);
  }
}

TEST(programs, work_of_larson_goes_through_many_threads) {
  const outcome done = run_program(
      "larson", "--duration 100ms --live-objects 50 --replacements-per-object 2 --threads 2 --json -");
  EXPECT_GT(metric(done, "threads_started"), 2) << done.output;  // as --threads has it, and successors
  EXPECT_GT(metric(done, "throughput"), 0);
  EXPECT_EQ(metric(done, "live_memory"), 2 * 50 * 7);
}

// One call in 64 is sampled.
TEST(programs, work_of_speed_is_done_in_every_round) {
  for (const char* chain : {"malloc-free", "malloc --time-leftovers"}) {
    const outcome done = run_program(
        "speed", std::string("--json - --latency --rounds 100 --chain-repeats 640 --chain ") + chain);
    EXPECT_NEAR(metric(done, "allocation_latency_samples"), 1000, 500) << done.output;
    EXPECT_NEAR(metric(done, "free_latency_samples"), 1000, 500) << done.output;
  }
}

TEST(programs, work_of_exchange_is_that_of_all_lives) {
  for (const char* options :
       {"", "--lives 3 --inherited 50%", "--swapped 100%", "--swapped 0 --grown 100%"}) {
    const outcome done = run_program(
        "exchange", std::string("--json - --threads 2 --live-objects 20 --replacements 500 ") + options);
    EXPECT_EQ(metric(done, "pairs"), 2 * 500 * (options == std::string("--lives 3 --inherited 50%") ? 3 : 1))
        << options << done.output;
  }
}

// Where threads neither swap nor leave objects to others, each frees its own alone.
TEST(programs, work_of_exchange_is_in_part_done_by_others) {
  const auto freed_by_others = [](const char* options) {
    return metric(
        run_program("exchange", std::string("--json - --live-objects 50 --replacements 2000 ") + options),
        "freed_by_others");
  };
  EXPECT_EQ(freed_by_others("--threads 2 --lives 2 --swapped 0"), 0);
  EXPECT_EQ(freed_by_others("--threads 1 --swapped 100%"), 0);
  EXPECT_EQ(freed_by_others("--threads 1 --lives 3 --swapped 0 --inherited 100%"), 100);
  EXPECT_GT(freed_by_others("--threads 1 --lives 3 --swapped 50% --shared-places 10"), 0);
}

TEST(programs, work_of_sentinel_is_in_part_done_by_others) {
  for (const char* death : {"random", "oldest", "newest", "together"}) {
    const auto freed_by_others = [death](const char* options) {
      const outcome done =
          run_program("sentinel", std::string("--json - --live-objects 50 --replacements 2000 --death ") +
                                      death + " " + options);
      EXPECT_GE(metric(done, "pairs"), 2000) << done.output;
      return metric(done, "freed_by_others");
    };
    EXPECT_EQ(freed_by_others("--threads 2"), 0) << death;
    EXPECT_EQ(freed_by_others("--threads 1 --passed-on 100%"), 0) << death;
  }
}

// Blocks of zeros and of data are resident as a whole, others not at all.
TEST(programs, work_of_sentinel_writes_what_it_is_told) {
  const auto peak_memory = [](const std::string& contents) {
    const std::string blocks = "--live-objects 8 --replacements 64 --min-size 1MiB --max-size 1MiB";
    return metric(run_program("sentinel", "--json - --death together " + blocks + " --contents " + contents),
                  "peak_memory");
  };
  const double unwritten = peak_memory("nothing");
  for (const char* contents : {"zeros", "data"})
    EXPECT_GT(peak_memory(contents), unwritten + (7 << 20)) << contents;
}

outcome run_lru_cache(const std::string& options) {
  return run_program("lru_cache", "--json - --requests 5000 --shards 4 --cache-bytes 1MiB " + options);
}

// Every request that finds nothing puts two blocks into the cache, and every value replaced one more.
TEST(programs, work_of_lru_cache_is_what_misses_and_replacements_make) {
  for (const char* options : {"", "--threads 2", "--lives 3", "--grown 50%"}) {
    const outcome done = run_lru_cache(std::string("--replaced 0 ") + options);
    const double requests = options == std::string("--threads 2") ? 10'000
                            : options == std::string("--lives 3") ? 15'000
                                                                  : 5000;
    EXPECT_NEAR(metric(done, "pairs"), 2 * (1 - metric(done, "hits")) * requests, 0.01)
        << options << done.output;
  }
  const outcome replacing = run_lru_cache("--replaced 100%");
  EXPECT_NEAR(metric(replacing, "pairs"), (2 - metric(replacing, "hits")) * 5000, 0.01);
}

TEST(programs, work_of_lru_cache_finds_what_the_cache_has_room_for) {
  const auto hits = [](const char* options) { return metric(run_lru_cache(options), "hits"); };
  EXPECT_GT(hits("--keys 100 --max-size 1000"), 0.98);  // all keys stay
  EXPECT_LT(hits("--keys 1M --max-size 1000"), 0.1);
  EXPECT_GT(hits("--keys 2000 --cache-bytes 4MiB"), hits("--keys 2000") + 0.1);
  // With room for an entry or two in each shard, a popular key is found more often than one of 2000.
  EXPECT_GT(hits("--keys 2000 --max-size 1000 --cache-bytes 8KiB"), 2.0 / 2000);
}

TEST(programs, work_of_lru_cache_is_in_part_done_by_others) {
  const auto freed_by_others = [](const std::string& options) {
    return metric(run_lru_cache(options), "freed_by_others");
  };
  EXPECT_EQ(freed_by_others("--threads 1"), 0);
  EXPECT_GT(freed_by_others("--threads 2"), 100);
  EXPECT_GT(freed_by_others("--threads 1 --lives 2"), 100);
  // Nothing is evicted, so that the second life frees at most one value of the first for each key.
  const char* kept = "--lives 2 --keys 100 --max-size 1000 --replaced";
  EXPECT_EQ(freed_by_others(std::string(kept) + " 0"), 0);
  EXPECT_GT(freed_by_others(std::string(kept) + " 100%"), 50);
  EXPECT_LE(freed_by_others(std::string(kept) + " 100%"), 100);
}

// Objects whose inner pages are never written need no memory there, with a mapping for each object.
TEST(programs, work_of_large_objects_is_in_all_pages_where_they_are_written) {
  std::string huge_pages;
  std::getline(std::ifstream("/sys/kernel/mm/transparent_hugepage/enabled"), huge_pages);
  if (huge_pages.starts_with("[always]")) GTEST_SKIP() << "the system may give a page of 2 MiB at one write";
  const auto peak_memory = [](const std::string& arguments) {
    const std::size_t space = arguments.find(' ');
    const outcome done =
        run_program(arguments.substr(0, space).c_str(), "--json - " + arguments.substr(space + 1));
    return metric(done, "peak_memory");
  };
  for (const std::string arguments :
       {"lru_cache --min-size 1MiB --max-size 2MiB --keys 20 --shards 1 --cache-bytes 64MiB --requests 200",
        "exchange --min-size 1MiB --max-size 2MiB --live-objects 20 --swapped 0 --replacements 200"})
    EXPECT_GT(peak_memory(arguments + " --write-all"), peak_memory(arguments) + (12 << 20)) << arguments;
}

TEST(programs, work_of_trees_is_that_of_all_nodes) {
  for (const auto& [options, nodes] :
       {std::pair{"--depth 0 --kept-depth 0", 1 + 3}, std::pair{"--depth 4 --kept-depth 2", 7 + 3 * 31}})
    for (int threads = 1; threads <= 2; ++threads)
      EXPECT_EQ(metric(run_program("trees", "--json - --rounds 3 --threads " + std::to_string(threads) + " " +
                                                options),
                       "pairs"),
                threads * nodes);
  // The tree that stays, and one beside it, lie in memory at a time.
  const outcome large = run_program("trees", "--json - --depth 12 --kept-depth 13 --rounds 20 --size 256");
  EXPECT_GT(metric(large, "peak_memory"), 3 * 8191 * 256);
}

// The words of the option --pattern, as --help lists them: "(generations, phases, ... or survivor; default".
std::vector<std::string> patterns_of_blowup() {
  const std::string help = run_program("blowup", "--help").output;
  const std::size_t end = help.find("; default survivor)");
  const std::size_t begin = help.rfind('(', end) + 1;
  std::string words = help.substr(begin, end - begin);
  words.replace(words.find(" or "), 4, ", ");
  std::vector<std::string> patterns;
  for (std::size_t at = 0, comma = 0; comma != std::string::npos; at = comma + 2)
    patterns.push_back(words.substr(at, (comma = words.find(", ", at)) - at));
  return patterns;
}

// A heap can hold neither less than is live nor, for these small amounts, many times as much.
TEST(programs, work_of_blowup_is_scored) {
  const std::map<std::string, std::string> options{{"phases", " --threads 1"}, {"spread", " --sizes 2000"}};
  const std::vector<std::string> patterns = patterns_of_blowup();
  ASSERT_GE(patterns.size(), 7);
  for (const std::string& pattern : patterns) {
    const auto own = options.find(pattern);
    const outcome done = run_program("blowup", "--live-bytes 16MiB --rounds 20 --json - --pattern " +
                                                   pattern + (own == options.end() ? "" : own->second));
    EXPECT_GE(metric(done, "blowup"), 0.9) << pattern;
    EXPECT_LE(metric(done, "peak_live"), 16 << 20) << pattern;
    EXPECT_GE(metric(done, "peak_live"), 15 << 20) << pattern;
  }
}

}  // namespace
}  // namespace heaplab
