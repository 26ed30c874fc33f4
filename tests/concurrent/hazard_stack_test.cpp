#include "concurrent/hazard_stack.h"

#include <gtest/gtest.h>

#include <array>
#include <memory>

#include "check/run_threads.h"
#include "explore/expect_sound.h"

namespace heaplab::concurrent {
namespace {

template <class Sync, std::size_t Elements, unsigned Threads>
struct hazards_with_links {
  explicit hazards_with_links(std::size_t batch) : stack(Threads, batch) {
    for (std::uint32_t index = 0; index < Elements; ++index) push(0, index);
    stack.push_waiting(0, next());
  }

  auto next() {
    return [this](std::uint32_t index) -> auto& { return links[index]; };
  }
  void push(unsigned thread, std::uint32_t index) { stack.push(thread, index, next()); }
  std::optional<std::uint32_t> try_pop(unsigned thread) { return stack.try_pop(thread, next()); }

  // How often each element is on the stack once no thread announces any.
  std::array<int, Elements> found() {
    for (unsigned thread = 0; thread < Threads; ++thread) stack.push_waiting(thread, next());
    std::array<int, Elements> times{};
    for (std::size_t step = 0; step <= Elements; ++step)
      if (const auto element = try_pop(0)) ++times[*element];
    return times;
  }

  hazard_stack<Sync> stack;
  std::array<typename Sync::template atomic<std::uint32_t>, Elements> links;
};

template <class Sync>
explore::outcome explore_hazards(std::size_t batch) {
  using fixture = hazards_with_links<Sync, 3, 2>;
  std::unique_ptr<fixture> tested;
  const auto pops_one = [&] {
    if (const auto element = tested->try_pop(0)) tested->push(0, *element);
  };
  const auto pops_two = [&] {
    const auto first = tested->try_pop(1);
    const auto second = tested->try_pop(1);
    if (first) tested->push(1, *first);
    if (second) tested->push(1, *second);
  };
  const explore::program two{.setup = [&] { tested = std::make_unique<fixture>(batch); },
                             .threads = {pops_one, pops_two},
                             .check =
                                 [&] {
                                   explore::require(tested->found() == std::array{1, 1, 1},
                                                    "an element is lost or there twice");
                                 }};
  return explore::explorer(two, {.preemptions = 4}).explore();
}

TEST(hazard_stack, returns_the_newest_first_and_keeps_a_batch_back) {
  hazards_with_links<std_sync, 3, 1> tested(2);
  EXPECT_EQ(tested.try_pop(0), 2U);
  tested.push(0, 2);
  EXPECT_EQ(tested.try_pop(0), 1U) << "the other one waits for a batch";
  tested.push(0, 1);
  EXPECT_EQ(tested.found(), (std::array{1, 1, 1}));
}

TEST(hazard_stack, interleavings_lose_nothing) {
  explore::expect_sound(explore_hazards<explore::explored_sync>(1), 1000);
  explore::expect_sound(explore_hazards<explore::explored_sync>(2), 1000);
}

// Announcements that nobody sees: the planted fault.
struct unseen_sync : explore::explored_sync {
  template <class T>
  struct atomic : explore::explored_atomic<T> {
    using explore::explored_atomic<T>::explored_atomic;
    T load(std::memory_order = {}) const {
      const T value = explore::explored_atomic<T>::load();
      return sizeof(T) == sizeof(std::uint64_t) ? T{0} : value;
    }
  };
};

TEST(hazard_stack, interleavings_show_the_aba_fault_where_announcements_are_not_seen) {
  EXPECT_TRUE(explore_hazards<unseen_sync>(1).failed);
}

TEST(hazard_stack, keeps_every_element_once_under_real_threads) {
  hazards_with_links<std_sync, 64, 4> tested(8);
  check::run_threads(4, [&](unsigned thread) {
    for (int round = 0; round < 20'000; ++round)
      if (const auto element = tested.try_pop(thread)) tested.push(thread, *element);
  });
  for (const int times : tested.found()) EXPECT_EQ(times, 1);
}

}  // namespace
}  // namespace heaplab::concurrent
