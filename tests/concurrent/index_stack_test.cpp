#include "concurrent/index_stack.h"

#include <gtest/gtest.h>

#include <array>
#include <optional>

#include "concurrent/stack_cases.h"
#include "explore/expect_sound.h"

namespace heaplab::concurrent {
namespace {

// A stack with room for the links of a few elements.
template <class Sync, std::size_t Elements>
struct stack_with_links {
  static constexpr std::size_t elements = Elements;

  index_stack<Sync> stack;
  std::array<typename Sync::template atomic<std::uint32_t>, Elements> links;

  auto next() {
    return [this](std::uint32_t index) -> auto& { return links[index]; };
  }
  void fill() {
    for (std::uint32_t index = 0; index < Elements; ++index) push(index);
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

TEST(index_stack, interleavings_lose_nothing) {
  explore::expect_sound(explore_stack<stack_with_links<explore::explored_sync, 3>>(), 1000);
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
  using untagged = stack_with_links<untagged_sync, 3>;
  EXPECT_TRUE(explore_stack<untagged>().failed);
}

TEST(index_stack, keeps_every_element_once_under_real_threads) {
  expect_every_element_once_under_real_threads<stack_with_links<std_sync, 64>>();
}

}  // namespace
}  // namespace heaplab::concurrent
