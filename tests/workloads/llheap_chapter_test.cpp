// What the workloads of the llheap chapter count and show.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "support/sample.h"
#include "workloads/programs.h"

namespace heaplab {
namespace {

using testing::outcome;

// The values of a series, without their times.
std::vector<double> series(const outcome& done, const std::string& name) {
  const std::string key = '"' + name + R"(":{"unit":"B","points":[)";
  const std::size_t begin = done.output.find(key);
  if (begin == std::string::npos) return {};
  std::vector<double> values;
  const char* at = done.output.c_str() + begin + key.size();
  while (*at == '[' || (*at == ',' && *++at == '[')) {
    char* end = nullptr;
    std::strtod(at + 1, &end);  // the time
    values.push_back(std::strtod(end + 1, &end));
    at = end + 1;
  }
  return values;
}

double largest(const std::vector<double>& values) {
  return values.empty() ? -1 : *std::max_element(values.begin(), values.end());
}

TEST(llheap_chapter, work_is_multiplied_by_threads) {
  for (const double threads : {1.0, 3.0}) {
    const std::string with = "--json - --threads " + std::to_string(static_cast<int>(threads));
    EXPECT_EQ(metric(run_program("churn", with + " --objects 500"), "pairs"), threads * 500);
    EXPECT_EQ(
        metric(run_program("speed", with + " --chain-repeats 500 --chain malloc-realloc-free"), "calls"),
        threads * 1500);
    for (const char* name : {"cache_thrash", "cache_scratch"})
      EXPECT_EQ(metric(run_program(name, with + " --iterations 5 --cache-rw 40 --size 8"), "accesses"),
                threads * 5 * 40 * 8);
  }
}

TEST(llheap_chapter, options_that_the_publication_leaves_open) {
  for (const char* arguments : {"--spot in-turn", "--filled", "--filled --spot in-turn --live-objects 3",
                                "--no-touch", "--distribution uniform", "--distribution geometric --step 7",
                                "--distribution fisher-f", "--min-size 64 --max-size 64"}) {
    const outcome done = run_program("churn", std::string("--threads 2 --objects 2000 ") + arguments);
    EXPECT_EQ(done.status, 0) << arguments << "\n" << done.output;
  }
  for (const char* chain : {"realloc", "free", "realloc-free", "malloc", "calloc-realloc"})
    for (const char* arguments : {"", "--no-prepared", "--time-leftovers", "--no-touch"}) {
      const outcome done = run_program(
          "speed", std::string("--threads 2 --chain-repeats 500 --chain ") + chain + " " + arguments);
      EXPECT_EQ(done.status, 0) << chain << " " << arguments << "\n" << done.output;
    }
  EXPECT_EQ(run_program("cache_scratch", "--handed used --iterations 3 --cache-rw 9").status, 0);
}

// With one round the producer has allocated everything before the consumer frees the first object.
TEST(llheap_chapter, memory_rises_to_all_objects_and_falls_to_none) {
  const outcome done = run_program("memory",
                                   "--objects-per-consumer 20000 --batch 20000 --distribution uniform "
                                   "--min-size 1000 --max-size 1000 --json -");
  const std::vector<double> requested = series(done, "requested");
  ASSERT_GE(requested.size(), 200U) << done.output;
  EXPECT_EQ(requested.front(), 0);
  EXPECT_EQ(requested.back(), 0);
  EXPECT_EQ(largest(requested), 20e6);
  EXPECT_EQ(metric(done, "most_requested"), 20e6);
  EXPECT_GE(metric(done, "most_total"), 20e6);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // their shadow memory counts too
  EXPECT_GE(largest(series(done, "resident")), 20e6);
  EXPECT_LE(largest(series(done, "resident")), 40e6);
#endif
}

// Each of the two samples falls between two batches.
TEST(llheap_chapter, memory_has_no_ratio_to_nothing) {
  const outcome done = run_program("memory", "--objects-per-consumer 20000 --batch 100 --samples 2 --json -");
  EXPECT_EQ(metric(done, "most_requested"), 0) << done.output;
  EXPECT_EQ(done.output.find("null"), std::string::npos) << done.output;
}

TEST(llheap_chapter, memory_is_the_sum_of_its_parts) {
  const outcome done = run_program("memory",
                                   "--producers 2 --consumers-per-producer 3 --objects-per-consumer 1000 "
                                   "--batch 300 --samples 50 --json -");
  const std::vector<double> total = series(done, "total");
  const std::vector<double> heap = series(done, "heap");
  const std::vector<double> files = series(done, "mmap_files");
  const std::vector<double> mmap = series(done, "mmap");
  ASSERT_GE(total.size(), 50U);
  ASSERT_TRUE(heap.size() == total.size() && files.size() == total.size() && mmap.size() == total.size());
  for (std::size_t i = 0; i < total.size(); ++i) EXPECT_EQ(total[i], heap[i] + files[i] + mmap[i]);
  EXPECT_GT(files.front(), 1 << 20) << "the C library alone";
}

// Neither the threads' stacks nor the program's own pages are the allocator's.
TEST(llheap_chapter, memory_leaves_out_what_is_not_the_allocators) {
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // sanitizers enlarge stacks
  const outcome few = run_program("memory", "--objects-per-consumer 10 --batch 10 --json -");
  const outcome large = run_program("memory", "--objects-per-consumer 10 --batch 10M --json -");
  EXPECT_LE(metric(large, "most_total"), metric(few, "most_total") + (1 << 20));
  const outcome many =
      run_program("memory", "--consumers-per-producer 9 --objects-per-consumer 1 --batch 1 --json -",
                  "GLIBC_TUNABLES=glibc.malloc.arena_max=1");
  const outcome single = run_program("memory", "--objects-per-consumer 1 --batch 1 --json -",
                                     "GLIBC_TUNABLES=glibc.malloc.arena_max=1");
  EXPECT_NEAR(metric(many, "most_total"), metric(single, "most_total"), 1 << 20);
#endif
}

}  // namespace
}  // namespace heaplab
