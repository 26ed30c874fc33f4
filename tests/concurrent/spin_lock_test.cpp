#include "concurrent/spin_lock.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <thread>
#include <vector>

#include "explore/explorer.h"

namespace heaplab::concurrent {
namespace {

TEST(spin_lock, excludes_in_all_interleavings) {
  spin_lock<explore::explored_sync> lock;
  explore::explored_atomic<int> value;
  const auto increments = [&] {
    const lock_holder hold(lock);
    value.store(value.load() + 1);
  };
  const explore::program three{.setup = [&] { value.store(0); },
                               .threads = {increments, increments, increments},
                               .check =
                                   [&] {
                                     if (value.load() != 3) throw std::runtime_error("lost update");
                                   }};
  const explore::outcome result = explore::explorer(three, {.preemptions = 3}).explore();
  EXPECT_FALSE(result.failed) << result.what;
  EXPECT_GT(result.runs, 50U);
}

TEST(spin_lock, try_lock_gives_up_where_it_is_held) {
  spin_lock<std_sync> lock;
  EXPECT_TRUE(lock.try_lock());
  EXPECT_FALSE(lock.try_lock());
  lock.unlock();
  EXPECT_TRUE(lock.try_lock());
}

TEST(spin_lock, excludes_real_threads) {
  constexpr int rounds = 20'000;
  spin_lock<std_sync> lock;
  long value = 0;
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread)
    threads.emplace_back([&] {
      for (int round = 0; round < rounds; ++round) {
        const lock_holder hold(lock);
        ++value;
      }
    });
  for (std::thread& it : threads) it.join();
  EXPECT_EQ(value, 4 * rounds);
}

}  // namespace
}  // namespace heaplab::concurrent
