// fork while another thread stands at every single instruction of malloc, realloc and free, or at every third
// of longer work, also where it holds locks: fork must not wait for them.
#if defined(__x86_64__)
#include <malloc.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <latch>
#include <thread>
#include <utility>
#include <vector>

#include "check/children.h"
#include "check/forked_heap.h"
#include "single_stepper.h"

namespace heaplab::check {
namespace {

// Each size some times, so that a span may run dry, and empty; blocks that another thread allocated; one that
// grows.
void allocate_and_free(const one_of_each& foreign) {
  void* growing = nullptr;
  for (unsigned i = 0; i < std::size(sizes); ++i) {
    void* mine[3];
    for (void*& memory : mine) memory = std::malloc(sizes[i]);
    growing = std::realloc(growing, sizes[i]);
    std::free(foreign[i]);
    for (void* const memory : mine) std::free(memory);
  }
  std::free(growing);
}

// As _Fork: no handlers of pthread_atfork run.
pid_t fork_raw() {
  return static_cast<pid_t>(syscall(SYS_clone, SIGCHLD, nullptr, nullptr, nullptr, nullptr));
}

bool has_no_raw_children() {
  return std::getenv("HEAPLAB_RAW_CHILDREN") == nullptr;
}

// In another thread prepare() runs, and then work() in steps. At every so many steps a child is
// made, and as_child() must return 0 there. Returns the number of steps.
template <class Prepare, class Work, class AsChild>
unsigned fork_at(unsigned every, Prepare prepare, Work work, AsChild as_child, pid_t (*make_child)() = fork) {
  const single_stepper stepper;
  std::thread other([&] {
    prepare();
    single_stepper::run(work);
  });
  every *= 10 / rounds(10);
  unsigned stops = 0;
  int status = 0;
  for (; single_stepper::wait(); single_stepper::go_on(), ++stops) {
    if (status != 0 || stops % every != 0) continue;
    const pid_t child = make_child();
    if (child == 0) alarm(10), _exit(as_child());
    status = status_of(child);
    EXPECT_EQ(status, 0) << "at stop " << stops;
  }
  other.join();
  return stops;
}

void fork_at_every_instruction(pid_t (*make_child)()) {
  const one_of_each foreign = make_blocks(0);
  one_of_each held;
  const unsigned steps = fork_at(
      1, [&] { held = make_blocks(1000); }, [&] { allocate_and_free(foreign); },
      [&] { return live_as_child(held); }, make_child);
  EXPECT_GT(steps, 100U);
  EXPECT_TRUE(check_and_free(held, 1000));
}

TEST(fork_anywhere, at_every_instruction_of_another_thread) {
  fork_at_every_instruction(fork);
}

TEST(fork_anywhere, without_handlers_at_every_instruction_of_another_thread) {
  if (has_no_raw_children()) GTEST_SKIP() << "the library promises nothing";
  fork_at_every_instruction(fork_raw);
}

// Beyond 32 threads for each processor, threads of scalloc share spans: on n processors every n-th thread
// those of the first. So n - 1 short-lived threads come between the thread that forks and the interrupted
// thread.
TEST(fork_anywhere, where_many_threads_are_at_every_instruction_of_another_thread) {
  const long processors = sysconf(_SC_NPROCESSORS_CONF), most = 32 * processors;
  std::latch have_blocks(most), may_end(1);
  std::vector<std::jthread> others;
  for (long i = 0; i < most; ++i)
    others.emplace_back([&] {
      const one_of_each own = make_blocks(0);
      have_blocks.count_down(), may_end.wait();
      EXPECT_TRUE(check_and_free(own, 0));
    });
  have_blocks.wait();
  std::thread([&] {
    const one_of_each own = make_blocks(0);
    for (long i = 1; i < processors; ++i) std::thread([] { std::free(std::malloc(1)); }).join();
    fork_at_every_instruction(fork);
    EXPECT_TRUE(check_and_free(own, 0));
  }).join();
  may_end.count_down();
}

unsigned char* allocate(std::size_t bytes) {
  return static_cast<unsigned char*>(std::malloc(bytes));
}

// Blocks of ten spans at least.
void use_many_blocks(std::size_t bytes) {
  std::array<unsigned char*, 160> blocks;
  for (unsigned i = 0; i < blocks.size(); ++i) fill(blocks[i] = allocate(bytes), filled, i);
  for (unsigned i = 0; i < blocks.size(); ++i) {
    if (!holds(blocks[i], filled, i)) _exit(4);
    std::free(blocks[i]);
  }
}

// The other thread frees blocks of a span from which it does not allocate, and allocates them again. In the
// child only one block of the other span stays.
TEST(fork_anywhere, while_another_thread_reuses_blocks_of_an_earlier_span) {
  std::array<unsigned char*, 8> blocks;  // scalloc's spans have four
  const auto prepare = [&] {
    for (unsigned i = 0; i < blocks.size(); ++i) fill(blocks[i] = allocate(4000), filled, i);
    std::free(std::exchange(blocks[7], nullptr));
  };
  const auto work = [&] {
    for (unsigned i = 0; i < 2; ++i) std::free(blocks[i]);
    for (unsigned i = 0; i < 2; ++i) blocks[i] = allocate(4000);
  };
  const auto as_child = [&] {
    for (unsigned i = 4; i < 6; ++i) std::free(blocks[i]);
    use_many_blocks(4000);
    return holds(blocks[2], filled, 2) && holds(blocks[3], filled, 3) && holds(blocks[6], filled, 6) ? 0 : 1;
  };
  EXPECT_GT(fork_at(1, prepare, work, as_child), 0U);
  for (unsigned char* const block : blocks) std::free(block);
}

// The other thread's spans run dry, and others take their place, while blocks of theirs are free and wait in
// the thread's quarantine, where the library has one.
TEST(fork_anywhere, while_another_thread_changes_spans) {
  constexpr std::size_t bytes = 1000;  // scalloc's spans have 16
  std::array<unsigned char*, 64> kept;
  std::array<unsigned char*, 20> changing = {};
  const auto change = [&](unsigned times) {
    for (unsigned i = 0; i < times; ++i) {
      unsigned char*& memory = changing[i % changing.size()];
      std::free(memory);
      memory = allocate(bytes);
    }
  };
  const auto prepare = [&] {
    for (unsigned i = 0; i < kept.size(); ++i) fill(kept[i] = allocate(bytes), filled, i);
    for (unsigned i = 0; i < kept.size(); ++i)
      if (i % 4 != 0) std::free(std::exchange(kept[i], nullptr));
    change(60);
  };
  const auto as_child = [&] {
    for (unsigned rest = 0; rest < 8; rest += 4) {
      use_many_blocks(bytes);
      for (unsigned i = rest; i < kept.size(); i += 8) {
        if (!holds(kept[i], filled, i)) return 5;
        std::free(kept[i]);
      }
    }
    return 0;
  };
  EXPECT_GT(fork_at(1, prepare, [&] { change(40); }, as_child), 100U);
  for (unsigned char* const memory : kept) std::free(memory);
  for (unsigned char* const memory : changing) std::free(memory);
}

// One of eight of them lives on.
void thin_out(std::array<unsigned char*, 96>& blocks) {
  for (unsigned i = 0; i < blocks.size(); ++i) fill(blocks[i] = allocate(1000), filled, i);
  for (unsigned i = 0; i < blocks.size(); ++i)
    if (i % 8 != 0) std::free(std::exchange(blocks[i], nullptr));
}

// scalloc gives back the memory of free spans, the memory of their records, and free pages of spans in use.
// Other libraries have nothing to trim.
void fork_while_another_thread_trims(pid_t (*make_child)()) {
  one_of_each held;
  std::array<unsigned char*, 96> thinned;
  const auto prepare = [&] { held = make_blocks(1000), use_many_blocks(4000), thin_out(thinned); };
  const auto as_child = [&] {
    for (unsigned round = 0; round < 2; ++round) use_many_blocks(4000), malloc_trim(0);
    for (unsigned i = 0; i < thinned.size(); ++i) {
      if (thinned[i] != nullptr && !holds(thinned[i], filled, i)) return 5;
      std::free(thinned[i]);
    }
    return live_as_child(held);
  };
  EXPECT_GT(fork_at(3, prepare, [] { malloc_trim(0); }, as_child, make_child), 0U);
  for (unsigned char* const block : thinned) std::free(block);
  EXPECT_TRUE(check_and_free(held, 1000));
}

TEST(fork_anywhere, while_another_thread_trims) {
  fork_while_another_thread_trims(fork);
}

TEST(fork_anywhere, without_handlers_while_another_thread_trims) {
  if (has_no_raw_children()) GTEST_SKIP() << "the library promises nothing";
  fork_while_another_thread_trims(fork_raw);
}

// A trim takes spans of which little is live off scalloc's fast path: the other thread's frees send their
// blocks home, and empty two of them.
TEST(fork_anywhere, while_another_thread_empties_sparse_spans) {
  std::array<unsigned char*, 96> thinned;
  const auto prepare = [&] { thin_out(thinned), malloc_trim(0); };
  const auto work = [&] {
    for (unsigned i = 0; i < 40; i += 8) std::free(std::exchange(thinned[i], nullptr));
    for (unsigned i = 1; i < 4; ++i) thinned[i] = allocate(1000);
  };
  const auto as_child = [&] {
    use_many_blocks(1000);
    for (unsigned i = 40; i < thinned.size(); i += 8) {
      if (!holds(thinned[i], filled, i)) return 5;
      std::free(thinned[i]);
    }
    use_many_blocks(1000);
    return 0;
  };
  EXPECT_GT(fork_at(1, prepare, work, as_child), 100U);
  for (unsigned char* const block : thinned) std::free(block);
}

// scalloc's table of large blocks becomes larger with the 129th.
TEST(fork_anywhere, while_another_thread_has_many_large_blocks) {
  one_of_each held;
  std::array<void*, 132> large = {};
  constexpr std::size_t at_once = 124;
  const auto allocate = [&](std::size_t from, std::size_t to) {
    for (std::size_t i = from; i < to; ++i) large[i] = std::malloc(2'000'000);
  };
  const auto free_all = [&] {
    for (void*& memory : large) std::free(std::exchange(memory, nullptr));
  };
  const auto prepare = [&] { held = make_blocks(1000), allocate(0, at_once); };
  const auto as_child = [&] {
    free_all();
    allocate(0, large.size());
    free_all();
    return live_as_child(held);
  };
  EXPECT_GT(fork_at(3, prepare, [&] { allocate(at_once, large.size()); }, as_child), 100U);
  free_all();
  EXPECT_TRUE(check_and_free(held, 1000));
}

}  // namespace
}  // namespace heaplab::check
#endif
