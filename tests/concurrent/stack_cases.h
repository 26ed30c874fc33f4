// What holds of every lock-free stack. A fixture has `elements` elements, all on the stack once it was
// filled, with fill(), push(element) and try_pop().
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <memory>

#include "check/run_threads.h"
#include "explore/expect_sound.h"

namespace heaplab::concurrent {

// Threads pop and push on a stack of three. In the end every element must be there once: the classic ABA
// fault loses one and keeps another twice.
template <class Fixture>
explore::outcome explore_stack() {
  static_assert(Fixture::elements == 3);
  std::unique_ptr<Fixture> tested;
  const auto setup = [&] {
    tested = std::make_unique<Fixture>();
    tested->fill();
  };
  const auto pops_one = [&] {
    if (const auto element = tested->try_pop()) tested->push(*element);
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
      if (const auto element = tested->try_pop()) ++found[*element];
    explore::require(found == std::array{1, 1, 1}, "an element is lost or there twice");
  };
  const explore::program three{.setup = setup, .threads = {pops_one, pops_two, pops_one}, .check = check};
  return explore::explorer(three, {.preemptions = 3}).explore();
}

template <class Fixture>
void expect_every_element_once_under_real_threads() {
  constexpr int rounds = 20'000;
  Fixture tested;
  tested.fill();
  // Written by who has popped the element alone.
  std::array<long, Fixture::elements> uses{};
  check::run_threads(4, [&](unsigned) {
    for (int round = 0; round < rounds; ++round) {
      const auto element = tested.try_pop();
      ASSERT_TRUE(element);
      ++uses[*element];
      tested.push(*element);
    }
  });
  long total = 0;
  for (const long count : uses) total += count;
  EXPECT_EQ(total, 4L * rounds);
  std::array<bool, Fixture::elements> found{};
  while (const auto element = tested.try_pop()) {
    EXPECT_FALSE(found[*element]);
    found[*element] = true;
  }
  for (const bool there : found) EXPECT_TRUE(there);
}

}  // namespace heaplab::concurrent
