#include "concurrent/elided_lock.h"

#include <gtest/gtest.h>

#include <thread>

#include "explore/expect_sound.h"

namespace heaplab::concurrent {
namespace {

// Is alone when told so, and counts atomic exchanges.
struct counting_sync : std_sync {
  static inline bool alone = false;
  static inline int exchanges = 0;
  static bool is_alone() { return alone; }

  template <class T>
  struct atomic : std_sync::atomic<T> {
    using std_sync::atomic<T>::atomic;
    T exchange(T wanted, std::memory_order order) {
      ++exchanges;
      return std_sync::atomic<T>::exchange(wanted, order);
    }
    bool compare_exchange_strong(T& expected, T wanted, std::memory_order success,
                                 std::memory_order failure) {
      ++exchanges;
      return std_sync::atomic<T>::compare_exchange_strong(expected, wanted, success, failure);
    }
  };
};

TEST(elided_lock, exchanges_nothing_while_alone) {
  elided_lock<counting_sync> lock;
  counting_sync::exchanges = 0;
  counting_sync::alone = true;
  {
    const lock_holder hold(lock);
    EXPECT_TRUE(lock.was_held());
  }
  EXPECT_FALSE(lock.was_held());
  EXPECT_EQ(counting_sync::exchanges, 0);
  counting_sync::alone = false;
  {
    const lock_holder hold(lock);
  }
  EXPECT_EQ(counting_sync::exchanges, 2);
}

TEST(elided_lock, that_was_taken_alone_is_held_for_all) {
  elided_lock<counting_sync> lock;
  counting_sync::alone = true;
  lock.lock();
  counting_sync::alone = false;
  EXPECT_FALSE(lock.try_lock());
  lock.unlock();
  EXPECT_TRUE(lock.try_lock());
}

TEST(elided_lock, excludes_in_all_interleavings) {
  elided_lock<explore::explored_sync> lock;
  explore::explored_atomic<int> value;
  const auto increments = [&] {
    const lock_holder hold(lock);
    value.store(value.load() + 1);
  };
  const auto check = [&] { explore::require(value.load() == 2, "lost update"); };
  explore::expect_sound(
      explore::explorer({[&] { value.store(0); }, {increments, increments}, check}, {.preemptions = 3})
          .explore());
}

TEST(elided_lock, excludes_from_the_second_thread_on) {
  elided_lock<std_sync> lock;
  int value = 0;
  const auto add = [&] {
    for (int left = 100'000; left > 0; --left) {
      const lock_holder hold(lock);
      ++value;
    }
  };
  add();
  std::thread other([&] {
    EXPECT_FALSE(std_sync::is_alone());
    add();
  });
  EXPECT_FALSE(std_sync::is_alone());
  add();
  other.join();
  EXPECT_EQ(value, 300'000);
}

}  // namespace
}  // namespace heaplab::concurrent
