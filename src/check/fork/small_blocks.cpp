// fork while threads pass blocks smaller than a cache line on and free them for each other, and end. A heap
// may keep such blocks apart by the thread that allocated them, because they share lines.
#include <unistd.h>

#include <thread>
#include <vector>

#include "base/atomic.h"
#include "check/children.h"
#include "check/message.h"
#include "check/run_threads.h"

namespace heaplab::check {
namespace {

// A block is filled for the place through which it goes to its next owner, so that any thread or process can
// check a block of a single byte.
class passed_blocks {
public:
  // False: a block did not hold what it should. Threads whose `number` is a multiple of three only free.
  bool pass(unsigned number, unsigned times) {
    random_engine random(number + 1);
    bool are_intact = true;
    for (unsigned i = 0; i < times; ++i) {
      const auto place = static_cast<unsigned>(random() % places);
      are_intact &= replace(place, number % 3 == 0 ? nullptr : make(place));
    }
    return are_intact;
  }

  bool free_all() {
    bool are_intact = true;
    for (unsigned place = 0; place < places; ++place) are_intact &= replace(place, nullptr);
    return are_intact;
  }

private:
  static constexpr unsigned places = 630;

  static std::size_t size_at(unsigned place) { return 1 + place % 63; }

  static unsigned char* make(unsigned place) {
    auto* const block = static_cast<unsigned char*>(std::malloc(size_at(place)));
    if (block == nullptr) std::abort();
    fill(block, size_at(place), place);
    return block;
  }

  bool replace(unsigned place, unsigned char* block) {
    // acq_rel: the thread that takes a block sees what the thread has written that put the block here.
    unsigned char* const taken = blocks_[place].exchange(block, std::memory_order_acq_rel);
    if (taken == nullptr) return true;
    const bool is_intact = holds(taken, size_at(place), place);
    // Whoever has the same block finds other contents.
    fill(taken, size_at(place), place + 1);
    std::free(taken);
    return is_intact;
  }

  atomic<unsigned char*> blocks_[places] = {};
};

passed_blocks passed;

// Frees what threads of the parent allocated, and has threads of its own.
int live_as_child(unsigned seed) {
  alarm(child_limit_s);
  atomic<bool> are_intact = passed.pass(seed, 500);
  run_threads(3, [&](unsigned thread) {
    if (!passed.pass(thread + seed, 500)) are_intact.store(false, std::memory_order_relaxed);
  });
  return passed.free_all() && are_intact.load(std::memory_order_relaxed) ? 0 : 2;
}

TEST(fork, of_threads_that_free_small_blocks_for_each_other_and_end) {
  atomic<bool> are_intact = true;
  const auto pass = [&](unsigned number, unsigned times) {
    if (!passed.pass(number, times)) are_intact.store(false, std::memory_order_relaxed);
  };
  {
    std::vector<std::jthread> others;
    for (unsigned i = 0; i < 3; ++i)
      others.emplace_back([&, i](const std::stop_token& stop) {
        for (unsigned round = i; !stop.stop_requested(); ++round) std::thread(pass, round, 3000).join();
      });
    for (unsigned i = 0; i < rounds(300); ++i) {
      pass(i, 300);
      const pid_t child = fork();
      if (child == 0) _exit(live_as_child(i));
      ASSERT_EQ(status_of(child), 0) << "child " << i;
    }
  }
  EXPECT_TRUE(passed.free_all());
  EXPECT_TRUE(are_intact.load(std::memory_order_relaxed));
}

}  // namespace
}  // namespace heaplab::check
