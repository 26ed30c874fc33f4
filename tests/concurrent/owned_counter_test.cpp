#include "concurrent/owned_counter.h"

#include <gtest/gtest.h>

#include <thread>

#include "concurrent/sync.h"
#include "explore/explorer.h"

namespace heaplab::concurrent {
namespace {

template <class Sync>
class owned_counter_test : public testing::Test {};

// The one with the special instructions and the one without.
using syncs = testing::Types<std_sync, explore::explored_sync>;
TYPED_TEST_SUITE(owned_counter_test, syncs);

TYPED_TEST(owned_counter_test, counts_up_and_down) {
  owned_counter<TypeParam> counter;
  EXPECT_EQ(counter.read_own(), 0);
  counter.set(2);
  counter.increment();
  EXPECT_EQ(counter.read_own(), 3);
  EXPECT_FALSE(counter.decrease_is_spent(1));
  EXPECT_FALSE(counter.decrease_is_spent(1));
  EXPECT_TRUE(counter.decrease_is_spent(1));
  EXPECT_EQ(counter.read_own(), 0);
}

TYPED_TEST(owned_counter_test, tells_when_it_falls_below_zero) {
  owned_counter<TypeParam> counter{1};
  EXPECT_FALSE(counter.decrement_is_negative());
  EXPECT_TRUE(counter.decrement_is_negative());
  EXPECT_EQ(counter.read_own(), -1);
}

TYPED_TEST(owned_counter_test, stays_spent_below_zero) {
  owned_counter<TypeParam> counter{-5};
  EXPECT_TRUE(counter.decrease_is_spent(1));
  EXPECT_EQ(counter.read_own(), -6);
}

TEST(owned_counter, publishes_what_was_done_before_a_change) {
  owned_counter<std_sync> counter;
  int payload = 0;
  std::thread reader([&] {
    while (counter.read(std::memory_order_acquire) != 2) std::this_thread::yield();
    EXPECT_EQ(payload, 42);
  });
  payload = 42;
  counter.increment();
  counter.increment();
  reader.join();
}

}  // namespace
}  // namespace heaplab::concurrent
