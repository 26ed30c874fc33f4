// fork while other threads are inside malloc and free.
#include <unistd.h>

#include <thread>
#include <vector>

#include "base/atomic.h"
#include "check/children.h"
#include "check/message.h"
#include "check/run_threads.h"

namespace heaplab::check {
namespace {

constexpr unsigned child_limit_s = 20;

// A child uses its heap: the blocks of its parent, blocks of its own, and those of a new thread.
int live_as_child(message* inherited, unsigned seed) {
  alarm(child_limit_s);
  random_engine random(seed + 1);
  if (!inherited->intact()) return 2;
  std::free(inherited);
  std::vector<message*> mine(300);
  for (message*& one : mine) one = message::make(random);
  std::thread([&] {
    for (message* const one : mine) std::free(one);
    std::free(message::make(random));
  }).join();
  return 0;
}

// 0, or the status with which the child failed.
int fork_one(unsigned seed) {
  random_engine random(seed + 1);
  message* const inherited = message::make(random);
  const pid_t child = fork();
  if (child == 0) _exit(live_as_child(inherited, seed));
  const int status = status_of(child);
  std::free(inherited);
  return status;
}

class busy_threads {
public:
  busy_threads() {
    for (unsigned i = 0; i < 3; ++i) threads_.emplace_back(work, i);
  }

private:
  static void work(const std::stop_token& stop, unsigned seed) {
    random_engine random(seed + 1);
    message* held[50] = {};
    while (!stop.stop_requested()) {
      message*& one = held[random() % 50];
      std::free(one);
      one = message::make(random);
    }
    for (message* const one : held) std::free(one);
  }

  std::vector<std::jthread> threads_;
};

TEST(fork, of_a_busy_process_leaves_both_heaps_usable) {
  const busy_threads others;
  for (unsigned i = 0; i < rounds(1000); ++i) ASSERT_EQ(fork_one(i), 0) << i;
}

TEST(fork, by_several_threads_at_once) {
  const busy_threads others;
  atomic<int> failed = 0;
  run_threads(2, [&](unsigned thread) {
    for (unsigned i = 0; i < rounds(30); ++i)
      if (fork_one(1000 * thread + i) != 0) failed.fetch_add(1, std::memory_order_relaxed);
  });
  EXPECT_EQ(failed.load(std::memory_order_relaxed), 0);
}

TEST(fork, of_a_child_of_a_child) {
  const busy_threads others;
  const pid_t child = fork();
  if (child == 0) {
    alarm(child_limit_s);
    for (unsigned i = 0; i < 20; ++i)
      if (fork_one(i) != 0) _exit(1);
    _exit(0);
  }
  EXPECT_EQ(status_of(child), 0);
}

}  // namespace
}  // namespace heaplab::check
