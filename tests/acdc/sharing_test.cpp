// Shared objects live as long as others, are freed once, and by any number of threads.
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "acdc/run_acdc.h"
#include "workloads/acdc/thread_state.h"

namespace heaplab::acdc {
namespace {

void expect_balanced(const std::string& arguments) {
  const std::string sample = sample_of("--ticks 40 --time-quantum 16KiB --max-liveness 4 " + arguments);
  EXPECT_GT(metric(sample, "freed_objects"), 0) << arguments;
  EXPECT_GE(metric(sample, "allocated_objects"), metric(sample, "freed_objects")) << arguments;
}

// In the original they lived for a random time: more than twice as many bytes were live.
TEST(sharing, gives_shared_objects_their_lifetime) {
  const std::string options = "--ticks 200 --no-access-live-objects ";
  const double unshared = metric(sample_of(options), "average_live_bytes");
  const double shared = metric(sample_of(options + "--shared-objects"), "average_live_bytes");
  EXPECT_NEAR(shared, unshared, 0.1 * unshared);
}

TEST(sharing, chooses_every_other_thread_equally_often_and_never_twice) {
  configuration settings;
  settings.threads = 10;
  thread_state state(settings, estimate(settings), 1, 3);
  std::vector<int> times(settings.threads);
  constexpr int rounds = 9000;
  for (int round = 0; round < rounds; ++round) {
    const auto chosen = state.choose_others(4);
    EXPECT_EQ(std::set<std::uint32_t>(chosen.begin(), chosen.end()).size(), 4U);
    for (const std::uint32_t other : chosen) ++times.at(other);
  }
  for (std::uint32_t other = 0; other < settings.threads; ++other)
    EXPECT_NEAR(times[other], other == 3 ? 0 : rounds * 4 / 9, other == 3 ? 0 : 250) << other;
}

// Of four threads, each of which holds all objects, the maker is the last to let go less often than the
// others.
TEST(sharing, counts_who_frees_what_another_made) {
  const std::string alone = sample_of("--shared-objects --no-access-live-objects");
  EXPECT_GT(metric(alone, "freed_objects"), 0);
  EXPECT_EQ(metric(alone, "remotely_freed_objects"), 0);
  const std::string unshared = sample_of("--threads 4 --no-access-live-objects");
  EXPECT_EQ(metric(unshared, "remotely_freed_objects"), 0);
  for (const char* when : {"", " --share-each-class"}) {
    const std::string shared =
        sample_of("--threads 4 --shared-objects --no-access-live-objects" + std::string(when));
    EXPECT_GT(metric(shared, "remotely_freed_objects"), metric(shared, "freed_objects") / 2) << when;
    EXPECT_LE(metric(shared, "remotely_freed_objects"), metric(shared, "freed_objects")) << when;
  }
}

TEST(sharing, bears_a_delay) {
  for (const char* delay : {"1", "5", "30"})
    expect_balanced("--threads 2 --shared-objects --deallocation-delay " + std::string(delay));
}

// The original divided by zero, or shared with nobody and never freed.
TEST(sharing, bears_any_share_of_receivers) {
  for (const char* ratio : {"0", "1", "50", "100"})
    for (const char* threads : {"1", "2", "5"})
      expect_balanced("--shared-objects --receiving-threads-ratio " + std::string(ratio) + " --threads " +
                      threads);
}

// As many accesses as holders: each receiver walks what it has been given.
TEST(sharing, lets_receivers_access_what_they_receive) {
  const std::string options =
      "--threads 4 --ticks 100 --max-liveness 3 --time-quantum 64KiB --max-time-drift 1 ";
  const double alone = metric(sample_of(options), "accessed_objects");
  const auto with = [&](const std::string& more) {
    return metric(sample_of(options + "--shared-objects " + more), "accessed_objects");
  };
  EXPECT_NEAR(with("--receiving-threads-ratio 0"), alone, 0.1 * alone);
  EXPECT_NEAR(with("--receiving-threads-ratio 34"), 2 * alone, 0.2 * alone);
  EXPECT_NEAR(with(""), 4 * alone, 0.4 * alone);
  EXPECT_NEAR(with("--shared-objects-ratio 50"), 2.5 * alone, 0.3 * alone);
}

TEST(sharing, works_with_more_than64_threads) {
  expect_balanced("--threads 100 --shared-objects --max-time-drift 1 --no-access-live-objects");
}

TEST(sharing, mixes_with_everything_else) {
  for (const char* stand_in : {"none", "compact", "align", "null"})
    expect_balanced(
        "--threads 3 --shared-objects --shared-objects-ratio 60 --receiving-threads-ratio 50 "
        "--list-ratio 40 --permanent-objects-ratio 5 --deallocation-delay 2 --pseudo-allocator " +
        std::string(stand_in));
}

}  // namespace
}  // namespace heaplab::acdc
