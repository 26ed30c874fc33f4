// Children that no handler of pthread_atfork prepares: of _Fork and clone, which sandboxes and container
// runtimes use, with memory of their own; and of vfork, with their parent's. The program has one thread, so
// that the C library's malloc is fit for all of that. Another malloc may have threads of its own, and locks.
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>

#include "check/children.h"
#include "check/message.h"
#include "check/own_threads.h"
#include "probes/process_memory.h"

namespace heaplab::check {
namespace {

constexpr std::size_t mebibyte = std::size_t{1} << 20;

pid_t clone_raw() {
  return static_cast<pid_t>(syscall(SYS_clone, SIGCHLD, nullptr, nullptr, nullptr, nullptr));
}

// Blocks in memory that is not of the malloc under test.
class block_list {
public:
  explicit block_list(std::size_t count) : count_(count) {
    void* const place = mmap(nullptr, bytes(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (place == MAP_FAILED) std::abort();
    all_ = static_cast<unsigned char**>(place);
  }
  ~block_list() { munmap(all_, bytes()); }
  block_list(const block_list&) = delete;
  block_list& operator=(const block_list&) = delete;

  std::size_t size() const { return count_; }
  unsigned char*& operator[](std::size_t index) { return all_[index]; }

private:
  std::size_t bytes() const { return count_ * sizeof *all_; }
  std::size_t count_;
  unsigned char** all_;
};

unsigned char* written(std::size_t size) {
  auto* const block = static_cast<unsigned char*>(std::malloc(size));
  if (block == nullptr) std::abort();
  std::memset(block, 1, size);
  return block;
}

void burst(std::size_t bytes, std::size_t size) {
  block_list blocks(bytes / size);
  for (std::size_t i = 0; i < blocks.size(); ++i) blocks[i] = written(size);
  for (std::size_t i = 0; i < blocks.size(); ++i) std::free(blocks[i]);
}

std::uint64_t anonymous() {
  return probes::process_memory().read().anonymous;
}

// --- no lock of the parent holds the child up ---

// Uses small blocks of the parent and of its own, and a large one.
int live_with(block_list& inherited) {
  alarm(child_limit_s);
  for (std::size_t i = 0; i < inherited.size() && i < 300'000; i += 1'000) std::free(inherited[i]);
  unsigned char* mine[400];
  for (unsigned char*& memory : mine) memory = written(300);
  for (unsigned char* const memory : mine) std::free(memory);
  std::free(written(3 * mebibyte));
  return 0;
}

// The heap of the parent has free pages everywhere, and may be purging them while the children begin.
TEST(raw_children, use_their_heap_while_memory_goes_back) {
  block_list blocks(400 * mebibyte / 300);
  for (std::size_t i = 0; i < blocks.size(); ++i) blocks[i] = written(300);
  for (std::size_t i = 0; i < blocks.size(); ++i)
    if (i % 20 != 0) std::free(blocks[i]);
  const unsigned children = rounds(120);
  for (unsigned i = 0; i < children; ++i) {
    for (unsigned waits = 0; waits < 400 && !another_thread_runs(); ++waits) usleep(50);
    const pid_t child = clone_raw();
    if (child == 0) _exit(live_with(blocks));
    ASSERT_EQ(status_of(child), 0) << "child " << i;
  }
}

// --- memory goes back in them as elsewhere ---

// Bytes that a process holds some time after a burst, while it goes on with little.
std::uint64_t held_after_a_burst() {
  burst(200 * mebibyte, 64);
  for (unsigned i = 0; i < 8; ++i) usleep(400'000), burst(mebibyte, 3'000);
  return anonymous();
}

// What report() returns in a child, as the child's exit status tells it: in MiB, at most 255.
template <class Report>
int mebibytes_in(pid_t child, Report report) {
  if (child == 0) _exit(static_cast<int>(std::min<std::uint64_t>(report() / mebibyte, 255)));
  const int status = status_of(child);
  EXPECT_TRUE(WIFEXITED(status));
  return WEXITSTATUS(status);
}

constexpr int tolerance = 32;

// The malloc may have a thread that the child has not.
TEST(raw_children, give_memory_back_as_those_of_fork_do) {
  burst(100 * mebibyte, 64);
  const int expected = mebibytes_in(fork(), held_after_a_burst);
  EXPECT_LE(mebibytes_in(clone_raw(), held_after_a_burst), expected + tolerance);
}

void free_much() {
  burst(64 * mebibyte, 64);
  std::free(written(40 * mebibyte));
}

// A child of vfork that frees much may not start what ends with the child: the process then holds no more
// than one that freed as much itself.
TEST(raw_children, of_vfork_leave_the_parent_able_to_give_memory_back) {
  const auto beside_a_child = [] {
    const pid_t child = vfork();
    if (child == 0) free_much(), _exit(0);
    status_of(child);
    return held_after_a_burst();
  };
  const auto without_a_child = [] { return free_much(), held_after_a_burst(); };
  EXPECT_LE(mebibytes_in(fork(), beside_a_child), mebibytes_in(fork(), without_a_child) + tolerance);
}

}  // namespace
}  // namespace heaplab::check
