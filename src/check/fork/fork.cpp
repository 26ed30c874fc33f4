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

// A child uses its heap: the blocks of its parent, blocks of its own, and those of a new thread.
int live_as_child(message* inherited, unsigned seed) {
  alarm(child_limit_s);
  random_engine random(seed + 1);
  if (!inherited->intact()) return 2;
  std::free(inherited);
  std::vector<message*> mine(300);
  for (message*& letter : mine) letter = message::make(random);
  std::thread([&] {
    for (message* const letter : mine) std::free(letter);
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
      message*& letter = held[random() % 50];
      std::free(letter);
      letter = message::make(random);
    }
    for (message* const letter : held) std::free(letter);
  }

  std::vector<std::jthread> threads_;
};

TEST(fork, of_a_busy_process_leaves_both_heaps_usable) {
  const busy_threads others;
  for (unsigned i = 0; i < rounds(1000); ++i) ASSERT_EQ(fork_one(i), 0) << i;
}

// A heap may have a lock for each kind of block. Threads that use all kinds seldom hold one that few blocks
// need.

void allocate_and_free(std::size_t size) {
  void* const memory = std::malloc(size);
  if (memory == nullptr) std::abort();
  static_cast<char*>(memory)[0] = 1;
  std::free(memory);
}

// More blocks at a time than a thread's cache may hold.
void allocate_and_free_many(std::size_t size) {
  void* blocks[300];
  for (void*& memory : blocks) memory = std::malloc(size);
  for (void* const memory : blocks) std::free(memory);
}

struct kind {
  const char* name;
  void (*use)();
};
constexpr kind kinds[] = {
    {"small", [] { allocate_and_free(48); }},
    {"many small", [] { allocate_and_free_many(48); }},
    {"many of a page", [] { allocate_and_free_many(4000); }},
    {"of 100 KB", [] { allocate_and_free(100'000); }},
    {"large", [] { allocate_and_free(3'000'000); }},
    {"aligned", [] { std::free(aligned_alloc(4096, 8192)); }},
    {"large and aligned", [] { std::free(aligned_alloc(std::size_t{1} << 20, std::size_t{2} << 20)); }},
    {"resized", [] { std::free(std::realloc(std::malloc(5000), 200'000)); }},
    {"zeroed", [] { std::free(std::calloc(1, 3000)); }},
    {"of threads that end", [] { std::thread([] { allocate_and_free(48); }).join(); }},
};

TEST(fork, of_a_process_busy_with_one_kind_of_block_leaves_all_kinds_usable) {
  for (const kind& use : kinds) {
    std::vector<std::jthread> others;
    for (unsigned i = 0; i < 2; ++i)
      others.emplace_back([use = use.use](const std::stop_token& stop) {
        while (!stop.stop_requested()) use();
      });
    for (unsigned i = 0; i < rounds(120); ++i) {
      const pid_t child = fork();
      if (child == 0) {
        alarm(child_limit_s);
        for (const kind& each : kinds) each.use();
        _exit(0);
      }
      ASSERT_EQ(status_of(child), 0) << "child " << i << ", while threads use blocks: " << use.name;
    }
  }
}

TEST(fork, by_several_threads_at_once) {
  const busy_threads others;
  atomic<int> failed = 0;
  run_threads(2, [&](unsigned thread) {
    for (unsigned i = 0; i < rounds(30) && failed.load(std::memory_order_relaxed) == 0; ++i)
      if (fork_one(1000 * thread + i) != 0) failed.fetch_add(1, std::memory_order_relaxed);
  });
  EXPECT_EQ(failed.load(std::memory_order_relaxed), 0);
}

TEST(fork, of_a_child_of_a_child) {
  const busy_threads others;
  const pid_t child = fork();
  if (child == 0) {
    alarm(2 * child_limit_s);
    for (unsigned i = 0; i < 20; ++i)
      if (fork_one(i) != 0) _exit(1);
    _exit(0);
  }
  EXPECT_EQ(status_of(child), 0);
}

}  // namespace
}  // namespace heaplab::check
