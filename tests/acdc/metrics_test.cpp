// What a run reports.
#include <gtest/gtest.h>

#include <cstdlib>
#include <numeric>
#include <string>
#include <vector>

#include "acdc/run_acdc.h"

namespace heaplab::acdc {
namespace {

TEST(metrics, tells_times_and_memory_apart) {
  const std::string sample = sample_of("");
  for (const char* name : {"allocation_time", "deallocation_time", "access_time", "average_memory"})
    EXPECT_GT(metric(sample, name), 0) << name;
  EXPECT_DOUBLE_EQ(metric(sample, "allocator_time"),
                   metric(sample, "allocation_time") + metric(sample, "deallocation_time"));
  EXPECT_LT(
      metric(sample, "allocation_time") + metric(sample, "deallocation_time") + metric(sample, "access_time"),
      metric(sample, "wall_time"));
  EXPECT_NE(sample.find(R"("memory":{"unit":"B","points":[[)"), std::string::npos);
  EXPECT_NE(sample.find(R"("live_bytes":{"unit":"B","points":[[)"), std::string::npos);
}

// No thread's times can be more than the time that passed; their sum is.
TEST(metrics, divides_by_the_threads) {
  const std::string sample = sample_of("--threads 4 --ticks 25");
  EXPECT_DOUBLE_EQ(metric(sample, "average_memory_per_thread"), metric(sample, "average_memory") / 4);
  EXPECT_LT(
      metric(sample, "allocation_time") + metric(sample, "deallocation_time") + metric(sample, "access_time"),
      metric(sample, "wall_time"));
}

// The values of a series in a JSON line.
std::vector<double> series_values(const std::string& sample, const std::string& name) {
  std::vector<double> values;
  const std::string key = "\"" + name + "\":{\"unit\":\"B\",\"points\":[[";
  const char* at = sample.c_str() + sample.find(key) + key.size();
  for (char* end = nullptr;; at = end + 3) {  // "],["
    std::strtod(at, &end);
    values.push_back(std::strtod(end + 1, &end));
    if (end[1] != ',') return values;
  }
}

TEST(metrics, averages_from_the_end_of_the_warm_up) {
  const std::string sample = sample_of("--max-liveness 4 --ticks 20 --no-access-live-objects");
  for (const char* what : {"memory", "live_bytes"}) {
    const std::vector<double> values = series_values(sample, what);
    ASSERT_EQ(values.size(), 20U) << what;
    const double sum = std::accumulate(values.begin() + 8, values.end(), 0.0);
    EXPECT_DOUBLE_EQ(metric(sample, "average_" + std::string(what)), sum / 12) << what;
    EXPECT_GT(sum / 12, values[0]) << "what is left out makes a difference";
  }
}

TEST(metrics, counts_the_live_bytes_of_all_threads) {
  const std::string options =
      "--class-objects 100 --min-size 64 --max-size 64 --min-liveness 4 --max-liveness 4 --ticks 50"
      " --max-time-drift 1 --threads ";
  const double single = metric(sample_of(options + "1"), "average_live_bytes");
  EXPECT_NEAR(metric(sample_of(options + "3"), "average_live_bytes"), 3 * single, single);
}

// A thousand times the records, and not more memory.
TEST(metrics, leaves_bookkeeping_out_of_memory) {
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  const std::string options = "--min-size 16 --max-size 16 --max-liveness 1 --time-quantum 1MiB --ticks 20 ";
  const std::string few = sample_of(options + "--class-objects 10000 --no-access-live-objects");
  const std::string many = sample_of(options + "--class-objects 1 --no-access-live-objects");
  EXPECT_GT(metric(many, "bookkeeping_memory"), metric(few, "bookkeeping_memory") + 4e6);
  EXPECT_NEAR(metric(many, "average_memory"), metric(few, "average_memory"), 1e6);
#endif
}

TEST(metrics, keeps_dead_objects_for_the_delay) {
  const std::string options = "--ticks 100 --max-liveness 1 --no-access-live-objects ";
  const double alone = metric(sample_of(options), "average_live_bytes");
  const double delayed = metric(sample_of(options + "--deallocation-delay 4"), "average_live_bytes");
  EXPECT_NEAR(delayed, 5 * alone, 0.25 * alone);
}

// Objects of liveness l are accessed in l ticks; 1 tick is all they get here, and no access is lost but those
// that follow the last tick.
TEST(metrics, accesses_live_objects_once_a_tick) {
  const std::string once = sample_of("--min-liveness 1 --max-liveness 1 --ticks 40");
  EXPECT_EQ(metric(once, "accessed_objects"), metric(once, "allocated_objects"));
  const std::string thrice = sample_of("--min-liveness 3 --max-liveness 3 --ticks 200");
  const double ratio = metric(thrice, "accessed_objects") / metric(thrice, "allocated_objects");
  EXPECT_GT(ratio, 2.9);
  EXPECT_LE(ratio, 3);
  const std::string delayed =
      sample_of("--min-liveness 3 --max-liveness 3 --ticks 200 --deallocation-delay 5");
  EXPECT_EQ(metric(delayed, "accessed_objects"), metric(thrice, "accessed_objects"));
}

TEST(metrics, writes_the_share_asked_for) {
  for (const char* lists : {"0", "50", "100"}) {
    const std::string sample = sample_of("--write-access-ratio 20 --list-ratio " + std::string(lists));
    EXPECT_NEAR(metric(sample, "written_objects"), 0.2 * metric(sample, "accessed_objects"), 1) << lists;
  }
}

TEST(metrics, keeps_permanent_objects) {
  const std::string sample = sample_of("--permanent-objects-ratio 100 --ticks 30 --no-access-live-objects");
  EXPECT_EQ(metric(sample, "freed_objects"), 0);
  EXPECT_GT(metric(sample, "allocated_objects"), 0);
}

TEST(metrics, allocates_the_number_asked_for) {
  const std::string sample = sample_of(
      "--class-objects 100 --min-size 512 --max-size 512 --max-liveness 1 --time-quantum 1 --ticks 1000");
  EXPECT_EQ(metric(sample, "allocated_objects"), 100'000);
  EXPECT_EQ(metric(sample, "allocated_bytes"), 51'200'000);
}

// The quantum was less than one class: the original refused this.
TEST(metrics, takes_any_quantum) {
  EXPECT_GT(metric(sample_of("--time-quantum 1000"), "allocated_objects"), 0);
}

TEST(metrics, repeats_with_the_seed) {
  EXPECT_EQ(metric(sample_of("--seed 5"), "allocated_bytes"),
            metric(sample_of("--seed 5"), "allocated_bytes"));
  EXPECT_NE(metric(sample_of("--seed 5"), "allocated_bytes"),
            metric(sample_of("--seed 6"), "allocated_bytes"));
}

TEST(metrics, offers_latencies) {
  const std::string sample = sample_of("--latency");
  for (const char* name : {"allocation_latency_p50", "free_latency_p99", "allocation_latency_samples"})
    EXPECT_GT(metric(sample, name), 0) << name;
}

// Every thread has an object of its own, in every round, whatever their number.
TEST(metrics, false_sharing_gives_every_thread_an_object) {
  for (const char* stand_in : {"none", "compact", "align"}) {
    const std::string sample =
        sample_of("--mode false-sharing --threads 20 --ticks 10 --time-quantum 100 --pseudo-allocator " +
                  std::string(stand_in));
    EXPECT_EQ(metric(sample, "allocated_objects"), 200) << stand_in;
    EXPECT_EQ(metric(sample, "freed_objects"), 200) << stand_in;
    EXPECT_GT(metric(sample, "access_time"), 0) << stand_in;
  }
}

}  // namespace
}  // namespace heaplab::acdc
