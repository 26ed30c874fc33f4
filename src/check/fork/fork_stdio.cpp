// fork and stdio. The C library's fork takes the lock of the list of streams after every fork handler has
// run. The owner of that lock may wait for a stream whose user waits for memory. So a fork handler of malloc
// must not hold a lock that malloc needs.
#include <pthread.h>
#include <semaphore.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/atomic.h"
#include "check/children.h"
#include "check/forked_heap.h"
#include "check/own_threads.h"

namespace heaplab::check {
namespace {

constexpr unsigned limit_s = 60;

// --- in a fixed order ---

sem_t list_is_locked, fork_begins;
atomic<pid_t> forking_thread = 0;  // relaxed: semaphores order everything that depends on the value

// Whether a thread of this process sleeps. Uses no stdio: the thread may be sleeping for a lock of stdio.
bool sleeps(pid_t thread) {
  return state_of(thread) == 'S';
}

// Allocates so many blocks of each size that every lock of a heap is taken.
void need_every_lock() {
  constexpr unsigned times = 200;
  static std::array<one_of_each, times> blocks;
  for (unsigned i = 0; i < times; ++i) blocks[i] = make_blocks(10 * i);
  for (unsigned i = 0; i < times; ++i)
    if (!check_and_free(blocks[i], 10 * i)) std::abort();
}

// fflush(nullptr) calls this function under the lock of the list of streams.
ssize_t write_to_cookie(void*, const char*, std::size_t size) {
  sem_post(&list_is_locked);
  sem_wait(&fork_begins);
  while (!sleeps(forking_thread.load(std::memory_order_relaxed))) sched_yield();
  need_every_lock();
  return static_cast<ssize_t>(size);
}

// Runs before the prepare handler of the malloc library, if there is one: prepare handlers run in reverse
// order of registration, and the library registered earlier.
void before_fork() {
  if (forking_thread.load(std::memory_order_relaxed) == 0) return;
  sem_post(&fork_begins);
}

TEST(fork_and_stdio, a_stream_may_need_memory_while_fork_waits_for_the_list_of_streams) {
  alarm(limit_s);
  sem_init(&list_is_locked, 0, 0);
  sem_init(&fork_begins, 0, 0);
  pthread_atfork(before_fork, nullptr, nullptr);
  FILE* const stream = fopencookie(nullptr, "w", {nullptr, write_to_cookie, nullptr, nullptr});
  ASSERT_NE(stream, nullptr);
  std::fputs("text", stream);
  const one_of_each held = make_blocks(1000);

  std::thread flushing([] { std::fflush(nullptr); });
  sem_wait(&list_is_locked);
  forking_thread.store(static_cast<pid_t>(syscall(SYS_gettid)), std::memory_order_relaxed);
  const pid_t child = fork();
  if (child == 0) _exit(live_as_child(held));
  forking_thread.store(0, std::memory_order_relaxed);
  EXPECT_EQ(status_of(child), 0);
  flushing.join();
  std::fclose(stream);
  EXPECT_TRUE(check_and_free(held, 1000));
  alarm(0);
}

// --- at random ---

class stdio_threads {
public:
  stdio_threads() {
    threads_.emplace_back(read_lines);
    threads_.emplace_back(read_lines);
    threads_.emplace_back([](const std::stop_token& stop) {
      while (!stop.stop_requested()) std::fflush(nullptr);
    });
  }

private:
  // Reads lines of growing length, so that getline allocates under the lock of its stream.
  static void read_lines(const std::stop_token& stop) {
    std::string text;
    for (unsigned i = 1; i < 40; ++i) text += std::string(std::size_t{100} * i * i, 'x') + '\n';
    while (!stop.stop_requested()) {
      FILE* const stream = fmemopen(text.data(), text.size(), "r");
      if (stream == nullptr) std::abort();
      char* line = nullptr;
      std::size_t room = 0;
      while (getline(&line, &room, stream) >= 0) {
        if (line[0] != 'x') std::abort();
        if (room > 20'000) std::free(std::exchange(line, nullptr)), room = 0;
      }
      std::free(line);
      std::fclose(stream);
    }
  }

  std::vector<std::jthread> threads_;
};

TEST(fork_and_stdio, with_getline_and_fflush_in_other_threads) {
  alarm(limit_s);
  {
    const stdio_threads others;
    for (unsigned i = 0; i < rounds(50); ++i) {
      const one_of_each held = make_blocks(1000);
      const pid_t child = fork();
      if (child == 0) _exit(live_as_child(held));
      ASSERT_EQ(status_of(child), 0) << i;
      ASSERT_TRUE(check_and_free(held, 1000));
    }
  }
  alarm(0);
}

}  // namespace
}  // namespace heaplab::check
