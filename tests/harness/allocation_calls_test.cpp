// Every call a workload writes is a call made: the compiler may not drop a malloc and its free.
#include <gtest/gtest.h>

#include <cstdlib>

#include "workloads/harness/heap_calls.h"
#include "workloads/harness/pitfalls.h"

namespace {

thread_local unsigned mallocs = 0;
thread_local unsigned frees = 0;

}  // namespace

extern "C" {
void* __real_malloc(std::size_t);
void __real_free(void*);

void* __wrap_malloc(std::size_t bytes) {
  ++mallocs;
  return __real_malloc(bytes);
}

void __wrap_free(void* block) {
  ++frees;
  __real_free(block);
}
}

namespace heaplab::harness {
namespace {

constexpr unsigned pairs = 10'000;

template <class Heap>
void make_pairs(Heap& heap) {
  for (unsigned i = 0; i < pairs; ++i) heap.release(heap.allocate(8));
}

// A workload may call malloc and free itself.
TEST(allocation_calls, compiler_options_leave_bare_pairs_in_place) {
  mallocs = frees = 0;
  for (unsigned i = 0; i < pairs; ++i) std::free(std::malloc(8));
  EXPECT_EQ(mallocs, pairs);
  EXPECT_EQ(frees, pairs);
}

TEST(allocation_calls, plain_heap_calls_malloc_and_free_every_time) {
  mallocs = frees = 0;
  plain_heap heap;
  make_pairs(heap);
  EXPECT_EQ(mallocs, pairs);
  EXPECT_EQ(frees, pairs);
}

TEST(allocation_calls, sampled_heap_calls_malloc_and_free_every_time_and_samples_some) {
  static latency_samples samples;
  sampled_heap heap(samples, 1);
  mallocs = frees = 0;
  make_pairs(heap);
  EXPECT_EQ(mallocs, pairs);
  EXPECT_EQ(frees, pairs);
  EXPECT_NEAR(static_cast<double>(samples.allocation.count()), pairs / 64.0, 40);
  EXPECT_NEAR(static_cast<double>(samples.release.count()), pairs / 64.0, 40);
}

TEST(allocation_calls, hampered_heap_calls_malloc_and_free_every_time_and_counts_each) {
  for (const pitfall which : {pitfall::timed_calls, pitfall::ordered_count, pitfall::shared_line}) {
    static call_counters counters;
    const std::uint64_t before = counters.counted();
    mallocs = frees = 0;
    {
      hampered_heap heap(which, counters, 3);
      make_pairs(heap);
    }
    EXPECT_EQ(mallocs, pairs);
    EXPECT_EQ(frees, pairs);
    const std::uint64_t counted = counters.counted() - before;
    if (which == pitfall::timed_calls)
      EXPECT_GE(counted, 2 * pairs) << "at least a tick for each";
    else
      EXPECT_EQ(counted, 2 * pairs);
  }
}

TEST(allocation_calls, threads_with_a_pitfall_share_lines_as_it_says) {
  static call_counters counters;
  const auto line = [](const void* at) { return reinterpret_cast<std::uintptr_t>(at) / call_counters::line; };
  EXPECT_EQ(line(&counters.of_thread[0]), line(&counters.of_thread[1]));
  EXPECT_NE(line(&counters.of_all), line(&counters.of_thread[0]));
}

TEST(allocation_calls, sampled_heap_serves_every_kind_of_call) {
  static latency_samples samples;
  sampled_heap heap(samples, 1);
  for (int i = 0; i < 1000; ++i) {
    auto* const zeroed = static_cast<char*>(heap.allocate_zeroed(100));
    EXPECT_EQ(zeroed[99], 0);
    zeroed[0] = 'x';
    auto* const grown = static_cast<char*>(heap.reallocate(zeroed, 1000));
    EXPECT_EQ(grown[0], 'x');
    heap.release(grown);
    void* const aligned = heap.allocate_aligned(256, 512);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(aligned) % 256, 0U);
    heap.release(aligned);
  }
}

}  // namespace
}  // namespace heaplab::harness
