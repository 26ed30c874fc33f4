#include "concurrent/neighbour_stack.h"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "concurrent/stack_cases.h"
#include "explore/expect_sound.h"

namespace heaplab::concurrent {
namespace {

constexpr unsigned place_bits = 8;

// Elements of three places each, all on the stack.
template <class Sync, std::size_t Elements>
struct full_stack {
  static constexpr std::size_t elements = Elements;
  static constexpr std::uint64_t width = 3;

  neighbour_stack<Sync, place_bits> stack;
  std::array<typename Sync::template atomic<std::uint64_t>, Elements> links{};

  auto link_of() {
    return [this](std::uint64_t place) -> auto& { return links[place / width]; };
  }
  void fill() {}  // It is full at first.
  // By number of the element.
  std::optional<std::uint64_t> try_pop() {
    const std::uint64_t place = stack.pop(width, Elements * width + 1, link_of());
    if (place == decltype(stack)::none) return std::nullopt;
    return place / width;
  }
  void push(std::uint64_t element) { stack.push(element * width, width, link_of()); }
};

TEST(neighbour_stack, is_full_at_first_in_the_order_of_places) {
  full_stack<std_sync, 4> tested;
  for (std::uint64_t element = 0; element < 4; ++element) EXPECT_EQ(tested.try_pop(), element);
  EXPECT_EQ(tested.try_pop(), std::nullopt);
}

TEST(neighbour_stack, returns_the_newest_first) {
  full_stack<std_sync, 4> tested;
  EXPECT_EQ(tested.try_pop(), 0U);
  EXPECT_EQ(tested.try_pop(), 1U);
  EXPECT_EQ(tested.try_pop(), 2U);
  for (const std::uint64_t element : {1U, 2U, 0U}) tested.push(element);
  for (const std::uint64_t element : {0U, 2U, 1U, 3U}) EXPECT_EQ(tested.try_pop(), element);
  EXPECT_EQ(tested.try_pop(), std::nullopt);
  tested.push(3);
  EXPECT_EQ(tested.try_pop(), 3U);
  EXPECT_EQ(tested.try_pop(), std::nullopt);
}

TEST(neighbour_stack, interleavings_lose_nothing) {
  explore::expect_sound(explore_stack<full_stack<explore::explored_sync, 3>>(), 1000);
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
  using untagged = full_stack<untagged_sync, 3>;
  EXPECT_TRUE(explore_stack<untagged>().failed);
}

TEST(neighbour_stack, keeps_every_element_once_under_real_threads) {
  expect_every_element_once_under_real_threads<full_stack<std_sync, 64>>();
}

}  // namespace
}  // namespace heaplab::concurrent
