#include "concurrent/neighbour_stack.h"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "check/run_threads.h"
#include "explore/expect_sound.h"

namespace heaplab::concurrent {
namespace {

constexpr unsigned place_bits = 8;

// Elements of three places each, all on the stack.
template <class Sync, std::size_t Elements>
struct full_stack {
  static constexpr std::uint64_t width = 3, none = ~std::uint64_t{0};

  neighbour_stack<Sync, place_bits> stack;
  std::array<typename Sync::template atomic<std::uint64_t>, Elements> links{};

  auto link_of() {
    return [this](std::uint64_t place) -> auto& { return links[place / width]; };
  }
  // By number of the element.
  std::uint64_t pop() {
    const std::uint64_t place = stack.pop(width, Elements * width + 1, link_of());
    return place == none ? none : place / width;
  }
  void push(std::uint64_t element) { stack.push(element * width, width, link_of()); }
};

TEST(neighbour_stack, is_full_at_first_in_the_order_of_places) {
  full_stack<std_sync, 4> tested;
  for (std::uint64_t element = 0; element < 4; ++element) EXPECT_EQ(tested.pop(), element);
  EXPECT_EQ(tested.pop(), tested.none);
}

TEST(neighbour_stack, returns_the_newest_first) {
  full_stack<std_sync, 4> tested;
  EXPECT_EQ(tested.pop(), 0U);
  EXPECT_EQ(tested.pop(), 1U);
  EXPECT_EQ(tested.pop(), 2U);
  for (const std::uint64_t element : {1U, 2U, 0U}) tested.push(element);
  for (const std::uint64_t element : {0U, 2U, 1U, 3U}) EXPECT_EQ(tested.pop(), element);
  EXPECT_EQ(tested.pop(), tested.none);
  tested.push(3);
  EXPECT_EQ(tested.pop(), 3U);
  EXPECT_EQ(tested.pop(), tested.none);
}

// Threads pop and push on a stack of three. In the end every element must be there once: the classic ABA
// fault loses one and keeps another twice.
template <class Sync>
explore::outcome explore_stack() {
  using fixture = full_stack<Sync, 3>;
  std::unique_ptr<fixture> tested;
  const auto setup = [&] { tested = std::make_unique<fixture>(); };
  const auto pops_one = [&] {
    if (const auto element = tested->pop(); element != fixture::none) tested->push(element);
  };
  const auto pops_two = [&] {
    const auto first = tested->pop();
    const auto second = tested->pop();
    if (first != fixture::none) tested->push(first);
    if (second != fixture::none) tested->push(second);
  };
  const auto check = [&] {
    std::array<int, 3> found{};
    for (int step = 0; step < 4; ++step)
      if (const auto element = tested->pop(); element != fixture::none) ++found[element];
    explore::require(found == std::array{1, 1, 1}, "an element is lost or there twice");
  };
  const explore::program three{.setup = setup, .threads = {pops_one, pops_two, pops_one}, .check = check};
  return explore::explorer(three, {.preemptions = 3}).explore();
}

TEST(neighbour_stack, interleavings_lose_nothing) {
  explore::expect_sound(explore_stack<explore::explored_sync>(), 1000);
}

// Atomics that forget the tags: the planted fault.
struct untagged_sync : explore::explored_sync {
  template <class T>
  struct atomic : explore::explored_atomic<T> {
    using explore::explored_atomic<T>::explored_atomic;
    bool compare_exchange_weak(T& expected, T wanted, std::memory_order, std::memory_order) {
      return this->compare_exchange_strong(expected, wanted & ((T{1} << place_bits) - 1));
    }
  };
};

TEST(neighbour_stack, interleavings_show_the_aba_fault_where_tags_are_missing) {
  EXPECT_TRUE(explore_stack<untagged_sync>().failed);
}

TEST(neighbour_stack, keeps_every_element_once_under_real_threads) {
  constexpr std::size_t elements = 64;
  constexpr int rounds = 20'000;
  full_stack<std_sync, elements> tested;
  // Written by who has popped the element alone.
  std::array<long, elements> uses{};
  check::run_threads(4, [&](unsigned) {
    for (int round = 0; round < rounds; ++round) {
      const auto element = tested.pop();
      ASSERT_NE(element, tested.none);
      ++uses[element];
      tested.push(element);
    }
  });
  long total = 0;
  for (const long count : uses) total += count;
  EXPECT_EQ(total, 4L * rounds);
  std::array<bool, elements> found{};
  for (auto element = tested.pop(); element != tested.none; element = tested.pop()) {
    EXPECT_FALSE(found[element]);
    found[element] = true;
  }
  for (const bool there : found) EXPECT_TRUE(there);
}

}  // namespace
}  // namespace heaplab::concurrent
