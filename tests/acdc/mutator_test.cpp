// When a mutator shares what it made: at the end of each tick, or each lifetime-size-class at once.
#include "workloads/acdc/mutator.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

namespace heaplab::acdc {
namespace {

// Notes before each allocation how many lifetime-size-classes have been put into thread 0's pool.
class watching_heap {
public:
  explicit watching_heap(distribution_pool& pool) : pool_(pool) {}
  void* allocate(std::size_t bytes) {
    pool_.collect(0, [this](lifetime_class some, std::uint64_t) {
      for (const holding* node = some.first; node != nullptr; node = node->next) ++received_;
    });
    received_before_.push_back(received_);
    return blocks_.emplace_back(std::make_unique<std::byte[]>(bytes)).get();
  }
  void* allocate_aligned(std::size_t, std::size_t bytes) { return allocate(bytes); }
  void release(void*) {}

  const std::vector<unsigned>& received_before() const { return received_before_; }

private:
  distribution_pool& pool_;
  unsigned received_ = 0;
  std::vector<unsigned> received_before_;
  std::vector<std::unique_ptr<std::byte[]>> blocks_;
};

// The notes of one tick in which thread 1 makes three lifetime-size-classes of two objects.
std::vector<unsigned> received_in_a_tick(bool shares_each_class) {
  configuration settings;
  settings.threads = 2;
  settings.objects = 2;
  settings.min_size = settings.max_size = 16;
  settings.time_quantum = std::uint64_t{3} * 2 * 16;
  settings.ticks = 1;
  settings.shared_objects = true;
  settings.shares_each_class = shares_each_class;
  const estimate expected(settings);
  placed_array<thread_state> states(settings.threads);
  for (unsigned thread = 0; thread < settings.threads; ++thread)
    states.make(thread, settings, expected, 1, thread);
  probes::off_heap_pages pages(distribution_pool::bytes_needed(2, settings.max_liveness));
  distribution_pool pool(pages, 2, settings.max_liveness);
  probes::barrier drift_barrier(2);
  harness::measurement measured({}, {settings.min_size, settings.max_size});
  memory_log memory(measured, settings.warm_up());
  accounts books("", settings.ticks);
  common_ground common{settings, states, pool, drift_barrier, memory, books};
  watching_heap heap(pool);
  mutator(common, 1, heap).run();
  return heap.received_before();
}

TEST(mutator, shares_at_the_end_of_a_tick) {
  EXPECT_EQ(received_in_a_tick(false), (std::vector<unsigned>{0, 0, 0, 0, 0, 0}));
}

TEST(mutator, shares_each_class_when_it_is_made_if_told) {
  EXPECT_EQ(received_in_a_tick(true), (std::vector<unsigned>{0, 0, 1, 1, 2, 2}));
}

}  // namespace
}  // namespace heaplab::acdc
