// The one thread of a program and the background purge thread never meet, in every interleaving.
#include "concurrent/solo_sections.h"

#include <gtest/gtest.h>

#include "concurrent/elided_lock.h"
#include "explore/expect_sound.h"

namespace heaplab::concurrent {
namespace {

// The program has one thread, as far as the C library knows. The explorer's atomics are sequentially
// consistent, so that the barrier has nothing to do.
struct lonely_sync : explore::explored_sync {
  static inline bool refuses_barrier = false;
  static bool is_alone() { return true; }
  static bool barrier() { return !refuses_barrier; }
};
using sections = solo_sections<lonely_sync>;
using lock_type = elided_lock<lonely_sync>;

// A number that two locks guard, one within the other.
struct guarded_number {
  explore::explored_atomic<int> value{0};
  lock_type outer, inner;

  void add() {
    const lock_holder hold(outer);
    const lock_holder hold_both(inner);
    value.store(value.load() + 1);
  }
  void add_within_inner() {
    const lock_holder hold(inner);
    value.store(value.load() + 1);
  }
};

TEST(solo_sections, exclude_the_visitor_in_all_interleavings) {
  guarded_number guarded;
  int expected = 0;
  unsigned visits = 0;
  const auto setup = [&] {
    sections::after_fork_in_child();
    guarded.value.store(0);
    expected = 2;
  };
  const auto program = [&] { guarded.add(), guarded.add(); };
  const auto visitor = [&] {
    if (!sections::begin_visit()) return;
    guarded.add_within_inner();
    sections::end_visit();
    ++expected, ++visits;
  };
  const auto check = [&] {
    explore::require(guarded.value.load() == expected, "lost update");
    explore::require(!guarded.outer.was_held() && !guarded.inner.was_held(), "still held");
    explore::require(sections::begin_visit(), "still inside");
    sections::end_visit();
  };
  explore::expect_sound(explore::explorer({setup, {program, visitor}, check}, {.preemptions = 3}).explore());
  EXPECT_GT(visits, 0U);
}

TEST(solo_sections, nest) {
  EXPECT_TRUE(sections::try_enter());
  EXPECT_TRUE(sections::try_enter());
  sections::leave();
  EXPECT_FALSE(sections::begin_visit());
  sections::leave();
  EXPECT_TRUE(sections::begin_visit());
  sections::end_visit();
}

TEST(solo_sections, take_locks_during_a_visit) {
  ASSERT_TRUE(sections::begin_visit());
  EXPECT_FALSE(sections::try_enter());
  sections::end_visit();
  EXPECT_TRUE(sections::try_enter());
  sections::leave();
}

TEST(solo_sections, are_not_visited_where_the_system_refuses_the_barrier) {
  lonely_sync::refuses_barrier = true;
  EXPECT_FALSE(sections::begin_visit());
  lonely_sync::refuses_barrier = false;
  EXPECT_TRUE(sections::try_enter()) << "the visit has not ended";
  sections::leave();
}

TEST(solo_sections, are_left_in_a_child_of_fork) {
  ASSERT_TRUE(sections::try_enter());
  sections::after_fork_in_child();
  ASSERT_TRUE(sections::begin_visit());
  sections::after_fork_in_child();
  EXPECT_TRUE(sections::try_enter());
  sections::leave();
}

}  // namespace
}  // namespace heaplab::concurrent
