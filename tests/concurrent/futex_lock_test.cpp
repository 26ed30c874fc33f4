#include "concurrent/futex_lock.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <ctime>
#include <thread>

#include "check/own_threads.h"
#include "check/run_threads.h"
#include "explore/expect_sound.h"

namespace heaplab::concurrent {
namespace {

TEST(futex_lock, excludes_in_all_interleavings) {
  futex_lock<explore::explored_sync> lock;
  explore::explored_atomic<int> value;
  const auto increments = [&] {
    const lock_holder hold(lock);
    value.store(value.load() + 1);
  };
  const explore::program three{.setup = [&] { value.store(0); },
                               .threads = {increments, increments, increments},
                               .check = [&] { explore::require(value.load() == 3, "lost update"); }};
  explore::expect_sound(explore::explorer(three, {.preemptions = 3}).explore(), 50);
}

TEST(futex_lock, try_lock_gives_up_where_it_is_held) {
  futex_lock<std_sync> lock;
  EXPECT_TRUE(lock.try_lock());
  EXPECT_FALSE(lock.try_lock());
  lock.unlock();
  EXPECT_TRUE(lock.try_lock());
}

class waiting_thread {
public:
  // `errno_after` is known when this is gone.
  waiting_thread(futex_lock<std_sync>& lock, int& errno_after) : thread_([&] { run(lock, errno_after); }) {
    while (id_ == 0) std::this_thread::yield();
  }
  ~waiting_thread() { thread_.join(); }

  bool sleeps() const { return check::state_of(id_) == 'S'; }

  // Of its own, in ns: however busy the machine is.
  long processor_time() {
    clockid_t clock;
    timespec used;
    if (pthread_getcpuclockid(thread_.native_handle(), &clock) != 0 || clock_gettime(clock, &used) != 0)
      return 0;
    return used.tv_sec * 1'000'000'000 + used.tv_nsec;
  }

private:
  void run(futex_lock<std_sync>& lock, int& errno_after) {
    errno = 0;
    id_ = static_cast<int>(syscall(SYS_gettid));
    lock.lock();
    errno_after = errno;
    lock.unlock();
  }

  std::atomic<int> id_ = 0;
  std::thread thread_;
};

// A real-time thread that waits awake would keep the holder from the processor.
TEST(futex_lock, who_waits_sleeps) {
  constexpr long most = 500'000'000;
  futex_lock<std_sync> lock;
  lock.lock();
  int ignored;
  waiting_thread waiter(lock, ignored);
  while (!waiter.sleeps() && waiter.processor_time() < most) std::this_thread::yield();
  EXPECT_LT(waiter.processor_time(), most);
  lock.unlock();
}

TEST(futex_lock, keeps_errno) {
  futex_lock<std_sync> lock;
  int of_waiter = -1;
  lock.lock();
  {
    waiting_thread waiter(lock, of_waiter);
    while (!waiter.sleeps()) std::this_thread::yield();
    errno = 0;
    lock.unlock();
    EXPECT_EQ(errno, 0);
  }
  EXPECT_EQ(of_waiter, 0);
}

TEST(futex_lock, is_free_for_a_child_that_lost_its_holder) {
  futex_lock<std_sync> lock;
  EXPECT_FALSE(lock.was_held());
  lock.lock();
  EXPECT_TRUE(lock.was_held());
  lock.forget_holder();
  EXPECT_FALSE(lock.was_held());
  EXPECT_TRUE(lock.try_lock());
}

TEST(futex_lock, excludes_real_threads) {
  constexpr int rounds = 20'000;
  futex_lock<std_sync> lock;
  long value = 0;
  check::run_threads(4, [&](unsigned) {
    for (int round = 0; round < rounds; ++round) {
      const lock_holder hold(lock);
      ++value;
    }
  });
  EXPECT_EQ(value, 4 * rounds);
}

}  // namespace
}  // namespace heaplab::concurrent
