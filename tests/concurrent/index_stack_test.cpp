#include "concurrent/index_stack.h"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <optional>

#include "check/run_threads.h"
#include "explore/expect_sound.h"

namespace heaplab::concurrent {
namespace {

// A stack with room for the links of a few elements.
template <class Sync, std::size_t Elements>
struct stack_with_links {
  index_stack<Sync> stack;
  std::array<typename Sync::template atomic<std::uint32_t>, Elements> links;

  auto next() {
    return [this](std::uint32_t index) -> auto& { return links[index]; };
  }
  void push(std::uint32_t index) { stack.push(index, next()); }
  std::optional<std::uint32_t> try_pop() { return stack.try_pop(next()); }
};

TEST(index_stack, returns_the_newest_first) {
  stack_with_links<std_sync, 3> tested;
  EXPECT_TRUE(tested.stack.looks_empty());
  EXPECT_EQ(tested.try_pop(), std::nullopt);
  for (const std::uint32_t index : {1U, 0U, 2U}) tested.push(index);
  EXPECT_FALSE(tested.stack.looks_empty());
  EXPECT_EQ(tested.try_pop(), 2U);
  EXPECT_EQ(tested.try_pop(), 0U);
  tested.push(2);
  EXPECT_EQ(tested.try_pop(), 2U);
  EXPECT_EQ(tested.try_pop(), 1U);
  EXPECT_EQ(tested.try_pop(), std::nullopt);
}

// Threads pop and push on a stack of three. In the end every element must be there once: the classic ABA
// fault loses one and keeps another twice.
template <class Sync>
explore::outcome explore_stack() {
  using fixture = stack_with_links<Sync, 3>;
  std::unique_ptr<fixture> tested;
  const auto setup = [&] {
    tested = std::make_unique<fixture>();
    for (const std::uint32_t index : {0U, 1U, 2U}) tested->push(index);
  };
  const auto pops_one = [&] {
    if (const auto index = tested->try_pop()) tested->push(*index);
  };
  const auto pops_two = [&] {
    const auto first = tested->try_pop();
    const auto second = tested->try_pop();
    if (first) tested->push(*first);
    if (second) tested->push(*second);
  };
  const auto check = [&] {
    std::array<int, 3> found{};
    for (int step = 0; step < 4; ++step)
      if (const auto index = tested->try_pop()) ++found[*index];
    explore::require(found == std::array{1, 1, 1}, "an element is lost or there twice");
  };
  const explore::program three{.setup = setup, .threads = {pops_one, pops_two, pops_one}, .check = check};
  return explore::explorer(three, {.preemptions = 3}).explore();
}

TEST(index_stack, interleavings_lose_nothing) {
  explore::expect_sound(explore_stack<explore::explored_sync>(), 1000);
}

// Atomics that forget the tags: the planted fault.
struct untagged_sync : explore::explored_sync {
  template <class T>
  struct atomic : explore::explored_atomic<T> {
    using explore::explored_atomic<T>::explored_atomic;
    bool compare_exchange_weak(T& expected, T wanted, std::memory_order, std::memory_order) {
      const tagged_index head{wanted};
      const tagged_index bare = head.is_none() ? tagged_index{} : tagged_index{}.with_index(head.index());
      return this->compare_exchange_strong(expected, static_cast<T>(bare.word()));
    }
  };
};

TEST(index_stack, interleavings_show_the_aba_fault_where_tags_are_missing) {
  EXPECT_TRUE(explore_stack<untagged_sync>().failed);
}

TEST(index_stack, keeps_every_element_once_under_real_threads) {
  constexpr std::size_t elements = 64;
  constexpr int rounds = 20'000;
  stack_with_links<std_sync, elements> tested;
  for (std::uint32_t index = 0; index < elements; ++index) tested.push(index);
  // Written by who has popped the element alone.
  std::array<long, elements> uses{};
  check::run_threads(4, [&](unsigned) {
    for (int round = 0; round < rounds; ++round) {
      const auto index = tested.try_pop();
      ASSERT_TRUE(index);
      ++uses[*index];
      tested.push(*index);
    }
  });
  long total = 0;
  for (const long count : uses) total += count;
  EXPECT_EQ(total, 4L * rounds);
  std::array<bool, elements> found{};
  while (const auto index = tested.try_pop()) {
    EXPECT_FALSE(found[*index]);
    found[*index] = true;
  }
  for (const bool there : found) EXPECT_TRUE(there);
}

}  // namespace
}  // namespace heaplab::concurrent
