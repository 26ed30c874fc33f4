// Children that run in the memory of their parent and allocate there while its other threads do: by vfork,
// and by clone as sandboxes and other languages' runtimes call it, past whatever a malloc knows of vfork. The
// thread that makes the child waits for it, so that the child has its thread-local variables alone.
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <thread>

#include "base/atomic.h"
#include "check/children.h"
#include "check/message.h"

namespace heaplab::check {
namespace {

// Confines the calling thread, and what it starts, to the CPU it runs on. The kernel then interrupts whoever
// runs there at any instruction, to let another run.
class one_cpu {
public:
  one_cpu() {
    sched_getaffinity(0, sizeof before_, &before_);
    cpu_set_t here;
    CPU_ZERO(&here);
    CPU_SET(static_cast<unsigned>(sched_getcpu()), &here);
    sched_setaffinity(0, sizeof here, &here);
  }
  ~one_cpu() { sched_setaffinity(0, sizeof before_, &before_); }
  one_cpu(const one_cpu&) = delete;
  one_cpu& operator=(const one_cpu&) = delete;

private:
  cpu_set_t before_;
};

// Allocates a few blocks, writes into each who has which, and frees them. False: another has one of them,
// too.
bool has_blocks_alone(std::uintptr_t owner) {
  constexpr std::size_t count = 16;
  volatile std::uintptr_t* blocks[count];
  for (std::size_t i = 0; i < count; ++i) {
    blocks[i] = static_cast<volatile std::uintptr_t*>(std::malloc(64));
    if (blocks[i] == nullptr) std::abort();
    *blocks[i] = owner * count + i;
  }
  bool result = true;
  for (std::size_t i = 0; i < count; ++i) {
    result = result && *blocks[i] == owner * count + i;
    std::free(const_cast<std::uintptr_t*>(blocks[i]));
  }
  return result;
}

// A thread that allocates as long as this object lives.
class neighbour_thread {
public:
  explicit neighbour_thread(std::uintptr_t owner)
      : thread_([this, owner](const std::stop_token& stop) {
          while (!stop.stop_requested()) {
            if (!has_blocks_alone(owner)) damaged_.store(true, std::memory_order_relaxed);
            rounds_.fetch_add(1, std::memory_order_relaxed);
          }
        }) {}

  unsigned rounds() const { return rounds_.load(std::memory_order_relaxed); }
  bool is_damaged() const { return damaged_.load(std::memory_order_relaxed); }

private:
  atomic<unsigned> rounds_ = 0;
  atomic<bool> damaged_ = false;
  std::jthread thread_;
};

// What the child does, until the neighbour on its CPU has had so many turns: each has interrupted the child
// at some instruction.
struct child_work {
  const neighbour_thread& neighbour;
  unsigned turns;

  int operator()() const {
    prctl(PR_SET_PDEATHSIG, SIGKILL);  // the child would outlive a parent that a broken heap ends
    unsigned seen = neighbour.rounds();
    for (unsigned left = turns; left > 0;) {
      if (!has_blocks_alone(1)) return 1;
      if (const unsigned now = neighbour.rounds(); now != seen) seen = now, --left;
    }
    return 0;
  }
};

// `start` returns the child, in which it has run the work.
template <class Start>
void expect_blocks_of_one_owner(Start start) {
  const neighbour_thread elsewhere(2);
  const one_cpu here;
  const neighbour_thread beside(3);
  EXPECT_EQ(status_of(start(child_work{beside, rounds(200)})), 0);
  EXPECT_FALSE(elsewhere.is_damaged());
  EXPECT_FALSE(beside.is_damaged());
}

TEST(shared_memory, of_a_child_of_vfork_has_no_block_of_two_owners) {
  // The child must not return from the function that calls vfork.
  expect_blocks_of_one_owner([](const child_work& work) {
    const pid_t child = vfork();
    if (child == 0) _exit(work());
    return child;
  });
}

TEST(shared_memory, of_a_child_of_clone_has_no_block_of_two_owners) {
  expect_blocks_of_one_owner([](child_work work) {
    constexpr std::size_t bytes = std::size_t{256} << 10;
    void* const stack =
        mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    if (stack == MAP_FAILED) std::abort();
    const auto run = [](void* given) { return (*static_cast<const child_work*>(given))(); };
    const pid_t child =
        clone(run, static_cast<char*>(stack) + bytes, CLONE_VM | CLONE_VFORK | SIGCHLD, &work);
    EXPECT_GT(child, 0) << "error number " << errno;
    munmap(stack, bytes);
    return child;
  });
}

}  // namespace
}  // namespace heaplab::check
