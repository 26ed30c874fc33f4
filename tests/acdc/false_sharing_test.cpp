// Who allocates and who frees what the threads of mode false-sharing write to.
#include "workloads/acdc/false_sharing.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <set>
#include <vector>

#include "workloads/harness/harness.h"

namespace heaplab::acdc {
namespace {

constexpr unsigned threads = 4;
constexpr std::uint64_t ticks_played = 60;

// Keeps the sizes asked for by one thread, and how many objects it released.
struct address_noting_heap {
  std::vector<std::size_t> sizes;
  unsigned released = 0;

  void* allocate(std::size_t size) {
    sizes.push_back(size);
    return std::malloc(size);
  }
  void* allocate_aligned(std::size_t, std::size_t size) { return allocate(size); }
  void release(void* object) {
    ++released;
    std::free(object);
  }
};

class rounds_played final : probes::team_task {
public:
  rounds_played() {
    settings_.mode = mode::false_sharing;
    settings_.threads = threads;
    settings_.min_size = 10;
    settings_.max_size = 13;
    settings_.max_liveness = 1;
    settings_.ticks = ticks_played;
    settings_.time_quantum = 10;
    const estimate expected(settings_);
    placed_array<thread_state> states(threads);
    for (unsigned thread = 0; thread < threads; ++thread)
      states.make(thread, settings_, expected, seed, thread);
    probes::off_heap_pages pages(distribution_pool::bytes_needed(threads, settings_.max_liveness));
    distribution_pool pool(pages, threads, settings_.max_liveness);
    probes::barrier drift_barrier(threads);
    harness::measurement measured({}, {settings_.min_size, settings_.max_size});
    memory_log memory(measured, settings_.warm_up());
    accounts books("", ticks_played);
    shared_round shared(settings_);
    common_ground common{settings_, states, pool, drift_barrier, memory, books};
    common_ = &common;
    round_ = &shared;
    measured.run_team(threads, *this);
  }

  std::array<address_noting_heap, threads> heaps;

private:
  static constexpr std::uint64_t seed = 1;

  void run(unsigned thread) override { false_sharer(*common_, *round_, thread, seed, heaps[thread]).run(); }

  configuration settings_;
  common_ground* common_ = nullptr;
  shared_round* round_ = nullptr;
};

// Both are drawn anew in each round.
TEST(false_sharing, lets_any_thread_allocate_and_any_other_free) {
  const rounds_played played;
  unsigned allocated = 0, released = 0, differing = 0;
  for (const address_noting_heap& heap : played.heaps) {
    EXPECT_FALSE(heap.sizes.empty());
    EXPECT_GT(heap.released, 0U);
    allocated += static_cast<unsigned>(heap.sizes.size());
    released += heap.released;
    differing += heap.sizes.size() != heap.released;
  }
  EXPECT_EQ(allocated, threads * ticks_played);
  EXPECT_EQ(released, threads * ticks_played);
  EXPECT_GT(differing, 0U);
}

TEST(false_sharing, draws_every_size_asked_for_and_the_same_for_all_threads_of_a_round) {
  const rounds_played played;
  std::set<std::size_t> sizes;
  for (const address_noting_heap& heap : played.heaps) {
    ASSERT_EQ(heap.sizes.size() % threads, 0U);
    for (std::size_t i = 0; i < heap.sizes.size(); ++i) {
      sizes.insert(heap.sizes[i]);
      EXPECT_EQ(heap.sizes[i], heap.sizes[i - i % threads]);
    }
  }
  EXPECT_EQ(sizes, (std::set<std::size_t>{10, 11, 12, 13}));
}

}  // namespace
}  // namespace heaplab::acdc
