// What scalloc must not do however many cores there are: bars on what the simulator counts.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "coherence/workloads.h"

namespace heaplab::coherence {
namespace {

const variant& scalloc() {
  return variant_named("scalloc");
}

double transfers(const result& of) {
  return of.all.per_operation(of.all.transfers);
}

class bars_test : public ::testing::TestWithParam<const char*> {};

// Threads that leave each other's blocks alone do not disturb each other, whatever they share inside.
TEST_P(bars_test, hold_for_2_to_256_threads) {
  const workload& work = workload_named(GetParam());
  ASSERT_TRUE(work.is_thread_local);
  for (const unsigned threads : {2U, 16U, 64U, 256U}) {
    const result seen = simulate(work, scalloc(), threads);
    EXPECT_EQ(seen.all.operations, threads * work.turns);
    EXPECT_LE(transfers(seen), 0.02) << threads << " threads";
    EXPECT_EQ(seen.fast.transfers, 0U) << "a fast path used a line that another core changed";
    EXPECT_EQ(seen.fast.atomic_changes, 0U);
  }
}

INSTANTIATE_TEST_SUITE_P(coherence, bars_test,
                         ::testing::Values("threadtest", "shbench", "random-sizes", "span-pool", "growth"),
                         [](const auto& instance) {
                           std::string name = instance.param;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

// What was found where threads exchange blocks or spans, rounded up: docs/scalloc-coherence.md.
TEST(bars, coherence_is_bounded_where_threads_exchange_memory) {
  const struct {
    const char* work;
    unsigned threads;
    double most;
    // larson's blocks are smaller than a line: they go home to their owner, so that the program's writes
    // share no lines (decision 104).
  } bounds[] = {{"larson", 16, 0.16},      {"larson", 256, 0.16},      {"producer-consumer", 2, 0.65},
                {"thread-churn", 2, 0.75}, {"thread-churn", 64, 1.85}, {"producer-consumer", 256, 0.65},
                {"thread-churn", 256, 1.9}};
  for (const auto& bound : bounds)
    EXPECT_LE(transfers(simulate(workload_named(bound.work), scalloc(), bound.threads)), bound.most)
        << bound.work << " with " << bound.threads << " threads";
}

TEST(bars, coherence_of_one_thread_is_free) {
  for (const workload& work : workloads()) {
    const result seen = simulate(work, scalloc(), 1);
    EXPECT_EQ(seen.all.transfers, 0U) << work.name;
    EXPECT_EQ(seen.fast.atomic_changes, 0U) << work.name;
  }
}

TEST(bars, coherence_is_counted_the_same_each_time) {
  const workload& work = workload_named("thread-churn");
  const result first = simulate(work, scalloc(), 8), second = simulate(work, scalloc(), 8);
  EXPECT_EQ(first.all.transfers, second.all.transfers);
  EXPECT_EQ(first.all.atomic_changes, second.all.atomic_changes);
}

// The negative control: all threads of this variant contend for one stack of free spans.
TEST(bars, coherence_shows_a_stack_that_all_threads_share) {
  const variant& single_stack = variant_named("scalloc-single-stack");
  EXPECT_GT(transfers(simulate(workload_named("span-pool"), single_stack, 16)), 0.1);
}

}  // namespace
}  // namespace heaplab::coherence
