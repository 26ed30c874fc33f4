// Buffers of CPUs with caches in front of them, as a heap that is not the malloc of the process. Run again
// where the C library has registered no restartable sequences.
#include "allocators/scalloc/frontend/calling_core.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <set>
#include <thread>
#include <vector>

#include "allocators/scalloc/policy/variants.h"
#include "allocators/scalloc/scalloc_heap.h"
#include "check/run_threads.h"
#include "support/cpus.h"

namespace heaplab::scalloc {
namespace {

using heaplab::testing::go_to_cpu;

constexpr config cores_config = cores();
using tested = scalloc_heap<cores_config>;

const bool has_caches = concurrent::has_sequences && rseq_area::distance() != 0;

// The test's own heap: nothing is left of an earlier test.
class calling_core : public ::testing::Test {
protected:
  void SetUp() override {
    for (unsigned cpu = static_cast<unsigned>(CPU_COUNT(&heaplab::testing::allowed_cpus())); cpu-- > 0;)
      go_to_cpu(cpu), tested::trim(0);
  }
};

std::vector<void*> allocate(std::size_t count, std::size_t size) {
  std::vector<void*> blocks(count);
  for (void*& block : blocks) std::memset(block = tested::allocate(size), 7, size);
  return blocks;
}

void free_all(const std::vector<void*>& blocks) {
  for (void* const block : blocks) tested::deallocate(block);
}

TEST_F(calling_core, hands_out_next_what_was_freed_last_on_the_cpu) {
  for (const std::size_t size : {16UL, 1000UL, 20'000UL}) {
    const std::vector<void*> blocks = allocate(2, size);
    free_all(blocks);
    // Another program may abort a sequence.
    void* const again = tested::allocate(size);
    EXPECT_TRUE(again == blocks[1] || again == blocks[0]) << size;
    tested::deallocate(again);
  }
}

// What one CPU frees of another's small blocks waits there, and goes home.
TEST_F(calling_core, hands_out_no_block_whose_line_has_blocks_of_another_cpu) {
  if (!has_caches || CPU_COUNT(&heaplab::testing::allowed_cpus()) < 2)
    GTEST_SKIP() << "no two CPUs that have restartable sequences";
  const auto line_of = [](const void* block) {
    return reinterpret_cast<std::uintptr_t>(block) / cache_line_bytes;
  };
  for (const std::size_t size : {16UL, 48UL}) {
    go_to_cpu(0);
    const std::vector<void*> blocks = allocate(2000, size);
    go_to_cpu(1);
    std::set<std::uintptr_t> lines;
    for (std::size_t i = 0; i < blocks.size(); ++i)
      if (i % 4 != 0)
        tested::deallocate(blocks[i]);
      else
        lines.insert(line_of(blocks[i]));
    const auto blocks_there = [&](unsigned cpu) {
      go_to_cpu(cpu);
      const std::vector<void*> more = allocate(1000, size);
      free_all(more);
      return std::count_if(more.begin(), more.end(),
                           [&](void* block) { return lines.contains(line_of(block)); });
    };
    EXPECT_EQ(blocks_there(1), 0) << size;
    EXPECT_GT(blocks_there(0), 100) << size;
    for (std::size_t i = 0; i < blocks.size(); i += 4) tested::deallocate(blocks[i]);
  }
  EXPECT_EQ(tested::statistics().live, 0U);
}

TEST_F(calling_core, counts_cached_blocks_as_free) {
  const std::vector<void*> blocks = allocate(100, 64);
  EXPECT_EQ(tested::statistics().live, 6'400U);
  free_all(blocks);
  EXPECT_EQ(tested::statistics().live, 0U);
}

// Whoever sleeps on the other CPU, or has ended there, left blocks in its cache and hot spans in its buffer.
TEST_F(calling_core, gives_back_on_trim_what_other_cpus_have_cached) {
  for (unsigned cpu = 0; cpu < 2; ++cpu) {
    go_to_cpu(cpu);
    for (const std::size_t size : {16UL, 500UL, 4000UL, 30'000UL}) free_all(allocate(100, size));
  }
  EXPECT_GT(tested::statistics().free_blocks, 0U);
  EXPECT_TRUE(tested::trim(0));
  const heap_statistics now = tested::statistics();
  EXPECT_EQ(now.live, 0U);
  EXPECT_EQ(now.free_blocks, 0U);
  EXPECT_EQ(now.committed, 0U);
}

// A filter may kill a process that asks for the barrier, which the background purge thread has not asked for.
TEST_F(calling_core, leaves_other_cpus_their_caches_in_a_program_that_has_had_threads) {
  if (!has_caches || CPU_COUNT(&heaplab::testing::allowed_cpus()) < 2)
    GTEST_SKIP() << "no two CPUs that have restartable sequences";
  std::thread([] {}).join();
  for (unsigned cpu = 0; cpu < 2; ++cpu) go_to_cpu(cpu), free_all(allocate(100, 500));
  tested::trim(0);
  EXPECT_GT(tested::statistics().free_blocks, 0U);
  go_to_cpu(0);
  tested::trim(0);
  EXPECT_EQ(tested::statistics().free_blocks, 0U);
}

// A thread may end on a CPU that it has not come from: what it had belongs to CPUs.
TEST_F(calling_core, threads_leave_no_more_than_cpus_cache) {
  const auto work = [] {
    for (const std::size_t size : {16UL, 48UL, 500UL, 4000UL}) free_all(allocate(50, size));
  };
  const auto committed_after = [&](unsigned threads) {
    for (unsigned i = 0; i < threads; ++i) std::thread(work).join();
    return tested::statistics().committed;
  };
  const std::size_t few = committed_after(4);
  EXPECT_LE(committed_after(200), few + 64 * kib);
}

TEST_F(calling_core, threads_that_sleep_share_the_spans_of_cpus) {
  constexpr unsigned threads = 64, classes = 20;
  std::atomic<unsigned> ready = 0;
  std::atomic<bool> may_end = false;
  std::vector<std::thread> team;
  for (unsigned i = 0; i < threads; ++i)
    team.emplace_back([&] {
      std::vector<void*> blocks;
      for (unsigned index = 1; index <= classes; ++index) blocks.push_back(tested::allocate(16 * index));
      ++ready;
      ready.notify_all();
      may_end.wait(false);
      free_all(blocks);
    });
  for (unsigned seen = 0; (seen = ready.load()) < threads;) ready.wait(seen);
  const heap_statistics now = tested::statistics();
  EXPECT_GE(now.live, std::size_t{threads} * 16 * classes * (classes + 1) / 2);
  // A span of each class for each thread would be 20 MiB.
  EXPECT_LE(now.committed, 4 * mib);
  may_end.store(true);
  may_end.notify_all();
  for (std::thread& thread : team) thread.join();
}

// Blocks go from CPU to CPU and from thread to thread, in the sizes that are cached and those that are not.
TEST_F(calling_core, gives_no_block_to_two_threads_that_migrate) {
  constexpr unsigned threads = 8, places = 512;
  std::vector<std::atomic<unsigned char*>> exchange(places);
  std::atomic<unsigned> faults = 0;
  const auto check_and_free = [&](unsigned char* block) {
    const unsigned char tag = block[0];
    for (unsigned i = 1; i < 16; ++i) faults += block[i] != tag;
    tested::deallocate(block);
  };
  check::run_threads(threads, [&](unsigned number) {
    std::uint32_t random = number * 7919;
    for (unsigned round = 0; round < 30'000; ++round) {
      random = random * 1'664'525 + 1'013'904'223;
      if (round % 256 == 0) go_to_cpu(random >> 20);
      if (round % 8192 == 77) tested::trim(0);
      const std::size_t size = (random & 0xff) == 0 ? 300'000 : 16 + (random >> 18) % 2000;
      auto* const block = static_cast<unsigned char*>(tested::allocate(size));
      std::memset(block, static_cast<int>(random >> 24), 16);
      if (unsigned char* const old = exchange[(random >> 8) % places].exchange(block)) check_and_free(old);
    }
  });
  for (auto& place : exchange)
    if (unsigned char* const old = place.exchange(nullptr)) check_and_free(old);
  EXPECT_EQ(faults.load(), 0U);
  tested::trim(0);
  EXPECT_EQ(tested::statistics().live, 0U);
}

// The child of a fork would not know what its parent freed: its buffers are new.
void free_twice(std::size_t count, std::size_t which) {
  const std::vector<void*> kept = allocate(1, 64), blocks = allocate(count, 64);
  free_all(blocks);
  tested::deallocate(blocks[which]);
  free_all(kept);
}

TEST_F(calling_core, refuses_a_second_free_of_a_cached_block) {
  for (const std::size_t which : {0U, 1U, 2U})
    EXPECT_DEATH(free_twice(3, which), "free already|not a live block") << which;
}

TEST_F(calling_core, refuses_a_second_free_of_a_block_that_the_cache_gave_up) {
  for (const std::size_t which : {0U, 500U, 999U, 1999U})
    EXPECT_DEATH(free_twice(2000, which), "free already|not a live block") << which;
}

TEST_F(calling_core, refuses_a_second_free_of_a_block_that_another_cpu_has_listed) {
  if (CPU_COUNT(&heaplab::testing::allowed_cpus()) < 2) GTEST_SKIP() << "no two CPUs";
  const auto free_on_two_cpus = [](std::size_t size) {
    go_to_cpu(0);
    const std::vector<void*> blocks = allocate(3, size);
    go_to_cpu(1);
    free_all(allocate(1, size));
    tested::deallocate(blocks[0]);
    go_to_cpu(0);
    tested::deallocate(blocks[0]);
  };
  for (const std::size_t size : {64UL, 100'000UL})
    EXPECT_DEATH(free_on_two_cpus(size), "free already|not a live block") << size;
}

// The first refill caches the neighbours of the first block.
TEST_F(calling_core, refuses_the_free_of_a_block_that_only_the_cache_has_seen) {
  if (!has_caches) GTEST_SKIP() << "no restartable sequences here";
  EXPECT_DEATH(
      {
        auto* const first = static_cast<char*>(tested::allocate(64));
        tested::deallocate(first + 64);
      },
      "free already");
}

}  // namespace
}  // namespace heaplab::scalloc
