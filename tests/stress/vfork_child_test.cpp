// Children of vfork that allocate: they run in the memory of their parent, in place of the thread that made
// them, beside the other threads, and the kernel knows no restartable sequences of theirs.
#include <gtest/gtest.h>
#include <malloc.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <thread>
#include <vector>

#include "base/rseq_area.h"
#include "check/children.h"
#include "check/message.h"
#if defined(__x86_64__)
#include "single_stepper.h"
#endif

namespace heaplab::check {
namespace {

void allocate_and_free() {
  void* blocks[20];
  for (unsigned i = 0; i < std::size(blocks); ++i) blocks[i] = std::malloc(16 + 100 * i);
  for (void* const block : blocks) std::free(block);
}

// Whether malloc and free begin restartable sequences now. Each leaves its descriptor in the thread's area
// until the kernel interrupts the thread, which a child's area has to fear from nobody.
bool begin_sequences() {
  if (rseq_area::distance() == 0) return false;
  char* const area = static_cast<char*>(__builtin_thread_pointer()) + rseq_area::distance();
  auto* const sequence = reinterpret_cast<volatile std::uint64_t*>(area + rseq_area::sequence_at);
  for (unsigned round = 0; round < 100; ++round) {
    *sequence = 0;
    allocate_and_free();
    if (*sequence != 0) return true;
  }
  return false;
}

// The status of a child of vfork that ends with 0 if work() is true in it. Both return from vfork, so that
// the function that calls it must not have returned by then.
template <class Work>
[[gnu::noinline]] int status_in_child(Work work) {
  const pid_t child = vfork();
  if (child == 0) _exit(work() ? 0 : 1);
  return status_of(child);
}

TEST(vfork_child, begins_no_sequence_and_leaves_its_parent_able_to) {
  const bool usual = begin_sequences();
  const bool is_by_core = std::getenv("HEAPLAB_BY_CORE") != nullptr;
  ASSERT_EQ(usual, is_by_core && rseq_area::distance() != 0);
  for (unsigned round = 0; round < 10; ++round) {
    EXPECT_EQ(status_in_child([] { return !begin_sequences(); }), 0);
    EXPECT_EQ(begin_sequences(), usual);
  }
}

TEST(vfork_child, may_have_children_itself) {
  const bool usual = begin_sequences();
  EXPECT_EQ(status_in_child(
                [] { return status_in_child([] { return !begin_sequences(); }) == 0 && !begin_sequences(); }),
            0);
  // The kernel knows no area of a child of fork either that a child of vfork makes.
  EXPECT_EQ(status_in_child([] {
              const pid_t child = fork();
              if (child == 0) _exit(begin_sequences() ? 1 : 0);
              return status_of(child) == 0;
            }),
            0);
  EXPECT_EQ(begin_sequences(), usual);
  const pid_t child = fork();
  if (child == 0) _exit(begin_sequences() == usual ? 0 : 1);
  EXPECT_EQ(status_of(child), 0);
}

TEST(vfork_child, may_become_another_program) {
  EXPECT_EQ(status_in_child([] { return execl("/bin/true", "true", nullptr) == 0; }), 0);
}

// In a child of fork, which gives up what would exempt its user from the limit of processes.
TEST(vfork_child, that_the_system_refuses_is_told_by_errno) {
  const bool usual = begin_sequences();
  constexpr rlimit none = {0, 0};
  constexpr uid_t nobody = 65534;
  const pid_t child = fork();
  if (child == 0) {
    if (setrlimit(RLIMIT_NPROC, &none) != 0 || (geteuid() == 0 && setuid(nobody) != 0)) _exit(1);
    errno = 0;
    const pid_t refused = vfork();
    if (refused == 0) _exit(0);
    _exit(refused == -1 && errno == EAGAIN && begin_sequences() == usual ? 0 : 2);
  }
  EXPECT_EQ(status_of(child), 0);
}

// Threads that allocate as long as this object lives, and give all caches back now and then.
class busy_threads {
public:
  busy_threads() {
    for (unsigned i = 0; i < 3; ++i) threads_.emplace_back(work, i + 1);
  }

private:
  static void work(const std::stop_token& stop, unsigned seed) {
    random_engine random(seed);
    for (unsigned round = 0; !stop.stop_requested(); ++round) {
      message* blocks[64];
      for (message*& letter : blocks) letter = message::make(random);
      for (message* const letter : blocks) {
        if (!letter->intact()) std::abort();
        std::free(letter);
      }
      if (round % 16 == 0) malloc_trim(0);
    }
  }

  std::vector<std::jthread> threads_;
};

bool exchange_blocks(unsigned seed) {
  random_engine random(seed);
  for (unsigned round = 0; round < 200; ++round) {
    message* blocks[64];
    for (message*& letter : blocks) letter = message::make(random);
    for (message* const letter : blocks) {
      if (!letter->intact()) return false;
      std::free(letter);
    }
  }
  return true;
}

TEST(vfork_child, shares_no_block_with_the_threads_of_its_parent) {
  const busy_threads others;
  for (unsigned round = 0; round < rounds(60); ++round) {
    ASSERT_EQ(status_in_child([round] { return exchange_blocks(round + 1); }), 0);
    ASSERT_TRUE(exchange_blocks(round + 1));
  }
}

#if defined(__x86_64__)

// --- in a handler, where the child may not allocate, but the parent is inside malloc, free or vfork ---

volatile unsigned handled = 0, failed = 0;

void have_a_child(int) {
  handled = handled + 1;
  const pid_t child = vfork();
  if (child == 0) {
    if (handled % 64 == 0) execl("/bin/true", "true", nullptr);
    _exit(0);
  }
  if (status_of(child) != 0) failed = failed + 1;
}

constexpr std::size_t used_sizes[] = {1, 48, 63, 200, 4000, 20'000};

// Two blocks of each size.
class some_blocks {
public:
  void allocate() {
    for (unsigned i = 0; i < all_.size(); ++i) all_[i] = std::malloc(size_of(i));
  }
  void free() const {
    for (void* const block : all_) std::free(block);
  }
  void fill() const {
    for (unsigned i = 0; i < all_.size(); ++i) testing::fill(all_[i], size_of(i), i);
  }
  bool are_intact() const {
    for (unsigned i = 0; i < all_.size(); ++i)
      if (!holds(all_[i], size_of(i), i)) return false;
    return true;
  }

private:
  static std::size_t size_of(std::size_t index) { return used_sizes[index % std::size(used_sizes)]; }

  std::array<void*, 2 * std::size(used_sizes)> all_;
};

TEST(vfork_child, of_a_handler_that_interrupts_the_library_at_any_instruction_leaves_the_heap_sound) {
  alarm(60);
  const bool usual = begin_sequences();
  some_blocks kept, foreign, mine;
  kept.allocate(), kept.fill();
  std::thread([&] { foreign.allocate(); }).join();
  struct sigaction action = {}, before;
  action.sa_handler = have_a_child;
  sigaction(SIGUSR1, &action, &before);
  {
    static volatile unsigned stops = 0;
    static const unsigned every = 10 / rounds(10);
    const stepped_library stepped([] {
      stops = stops + 1;
      if (stops % every == 0) raise(SIGUSR1);
    });
    stepped_library::run([&] {
      foreign.free(), mine.allocate();
      EXPECT_EQ(status_in_child([] { return true; }), 0);
    });
    mine.fill();
    EXPECT_TRUE(kept.are_intact() && mine.are_intact());
    stepped_library::run([&] { mine.free(); });
  }
  sigaction(SIGUSR1, &before, nullptr);
  EXPECT_GT(handled, 0U);
  EXPECT_EQ(failed, 0U);
  EXPECT_EQ(begin_sequences(), usual);
  EXPECT_TRUE(kept.are_intact());
  kept.free();
  EXPECT_TRUE(exchange_blocks(1));
  std::thread([] { EXPECT_TRUE(exchange_blocks(2)); }).join();
  alarm(0);
}

#endif

}  // namespace
}  // namespace heaplab::check
