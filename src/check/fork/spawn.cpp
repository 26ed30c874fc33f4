// Starting another program: vfork and posix_spawn while other threads allocate, and fork followed by exec.
#include <gtest/gtest.h>
#include <spawn.h>
#include <unistd.h>

#include <thread>
#include <vector>

#include "check/children.h"
#include "check/message.h"

namespace heaplab::check {
namespace {

// Threads that allocate as long as this object lives.
class allocating_threads {
public:
  allocating_threads() {
    for (unsigned i = 0; i < 2; ++i) threads_.emplace_back(work, i + 1);
  }

private:
  static void work(const std::stop_token& stop, unsigned seed) {
    random_engine random(seed);
    while (!stop.stop_requested()) std::free(message::make(random));
  }

  std::vector<std::jthread> threads_;
};

char program[] = "/bin/true";
char* const words[] = {program, nullptr};

// The new programs run without the library: the test is about the heap of the parent.
char* const no_environment[] = {nullptr};

void expect_intact_heap(unsigned seed) {
  random_engine random(seed);
  std::vector<message*> blocks(100);
  for (message*& letter : blocks) letter = message::make(random);
  for (message* const letter : blocks) {
    EXPECT_TRUE(letter->intact());
    std::free(letter);
  }
}

// `start` returns the new process; a child of vfork does not return from it.
void expect_heap_stays_usable(unsigned times, pid_t (*start)()) {
  const allocating_threads others;
  for (unsigned i = 0; i < times; ++i) {
    ASSERT_EQ(status_of(start()), 0);
    expect_intact_heap(i + 1);
  }
}

TEST(spawn, by_posix_spawn_leaves_the_heap_usable) {
  expect_heap_stays_usable(rounds(200), [] {
    pid_t child = 0;
    EXPECT_EQ(posix_spawn(&child, program, nullptr, nullptr, words, no_environment), 0);
    return child;
  });
}

[[noreturn]] void become_program() {
  execve(program, words, no_environment);
  _exit(1);
}

TEST(spawn, by_vfork_leaves_the_heap_usable) {
  expect_heap_stays_usable(rounds(200), [] {
    const pid_t child = vfork();
    if (child == 0) become_program();
    return child;
  });
}

TEST(spawn, by_fork_and_exec_leaves_the_heap_usable) {
  expect_heap_stays_usable(rounds(100), [] {
    const pid_t child = fork();
    if (child == 0) std::free(std::malloc(1000 + static_cast<std::size_t>(getpid()) % 100)), become_program();
    return child;
  });
}

}  // namespace
}  // namespace heaplab::check
