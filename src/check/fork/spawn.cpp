// Starting another program: vfork and posix_spawn while other threads allocate, and fork followed by exec.
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>
#include <vector>

#include "base/atomic.h"
#include "check/message.h"

namespace heaplab::check {
namespace {

// Threads that allocate as long as this object lives.
class allocating_threads {
public:
  allocating_threads() {
    for (unsigned i = 0; i < 2; ++i) threads_.emplace_back([this, i] { work(i + 1); });
  }
  ~allocating_threads() {
    stop_.store(true, std::memory_order_relaxed);  // relaxed: publishes nothing but itself
    for (std::thread& one : threads_) one.join();
  }

private:
  void work(unsigned seed) {
    random_engine random(seed);
    while (!stop_.load(std::memory_order_relaxed)) std::free(message::make(random));
  }

  atomic<bool> stop_ = false;
  std::vector<std::thread> threads_;
};

int status_of(pid_t child) {
  int status = -1;
  waitpid(child, &status, 0);
  return status;
}

char program[] = "/bin/true";
char* const words[] = {program, nullptr};

// The new programs run without the library: the test is about the heap of the parent.
char* const no_environment[] = {nullptr};

void expect_intact_heap(unsigned seed) {
  random_engine random(seed);
  std::vector<message*> blocks(100);
  for (message*& one : blocks) one = message::make(random);
  for (message* const one : blocks) {
    EXPECT_TRUE(one->intact());
    std::free(one);
  }
}

TEST(spawn, by_posix_spawn_leaves_the_heap_usable) {
  const allocating_threads others;
  for (unsigned i = 0; i < rounds(200); ++i) {
    pid_t child = 0;
    ASSERT_EQ(posix_spawn(&child, program, nullptr, nullptr, words, no_environment), 0);
    ASSERT_EQ(status_of(child), 0);
    expect_intact_heap(i + 1);
  }
}

TEST(spawn, by_vfork_leaves_the_heap_usable) {
  const allocating_threads others;
  for (unsigned i = 0; i < rounds(200); ++i) {
    const pid_t child = vfork();
    if (child == 0) {
      execve(program, words, no_environment);
      _exit(1);
    }
    ASSERT_EQ(status_of(child), 0);
    expect_intact_heap(i + 1);
  }
}

TEST(spawn, by_fork_and_exec_leaves_the_heap_usable) {
  const allocating_threads others;
  for (unsigned i = 0; i < rounds(100); ++i) {
    const pid_t child = fork();
    if (child == 0) {
      std::free(std::malloc(1000 + i));
      execve(program, words, no_environment);
      _exit(1);
    }
    ASSERT_EQ(status_of(child), 0);
    expect_intact_heap(i + 1);
  }
}

}  // namespace
}  // namespace heaplab::check
