// fork while another thread stands at every single instruction of malloc, realloc and free.
#if defined(__x86_64__)
#include <link.h>
#include <semaphore.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <ctime>
#include <thread>

#include "stress.h"

namespace stress {
namespace {

// A block of many in a span, one of few, one of the coarse zone, one with a mapping of its own.
constexpr std::size_t sizes[] = {48, 4000, 100'000, 3'000'000};

// The code of the library that provides malloc.
struct code_range {
  std::uintptr_t begin = 0, end = 0;

  bool contains(greg_t address) const {
    const auto at = static_cast<std::uintptr_t>(address);
    return begin <= at && at < end;
  }

  static code_range of_malloc() {
    code_range result;
    dl_iterate_phdr(
        [](dl_phdr_info* object, std::size_t, void* found) {
          const auto is_code = [](const ElfW(Phdr) & part) {
            return part.p_type == PT_LOAD && (part.p_flags & PF_X) != 0;
          };
          for (unsigned i = 0; i < object->dlpi_phnum; ++i) {
            const ElfW(Phdr)& part = object->dlpi_phdr[i];
            const std::uintptr_t begin = object->dlpi_addr + part.p_vaddr;
            const code_range code{begin, begin + part.p_memsz};
            if (!is_code(part) || !code.contains(reinterpret_cast<greg_t>(&std::malloc))) continue;
            *static_cast<code_range*>(found) = code;
            return 1;
          }
          return 0;
        },
        &result);
    return result;
  }
};

// Lets one thread run one instruction of the malloc library at a time, and another do something after each.
class single_stepper {
public:
  single_stepper() {
    struct sigaction action = {};
    action.sa_sigaction = [](int, siginfo_t*, void* context) { trap(*static_cast<ucontext_t*>(context)); };
    action.sa_flags = SA_SIGINFO;
    sigaction(SIGTRAP, &action, &before_);
    malloc_code_ = code_range::of_malloc();
    stop_ = gone_on_from_ = 0;
    done_ = false;
    sem_init(&stopped_, 0, 0);
    sem_init(&may_go_on_, 0, 0);
  }
  ~single_stepper() { sigaction(SIGTRAP, &before_, nullptr); }

  // By the thread that steps.
  template <class Work>
  static void run(Work work) {
    stepping_ = true;
    raise(SIGTRAP);
    work();
    stepping_ = false;
    raise(SIGTRAP);
    done_ = true;
    sem_post(&stopped_);
  }

  // By the other thread: waits for the next stop. False: there is none any more.
  static bool wait() {
    while (stop_ == gone_on_from_) {
      if (done_) return false;
      sem_wait(&stopped_);
    }
    return true;
  }
  static void go_on() {
    ++gone_on_from_;
    sem_post(&may_go_on_);
  }

private:
  static constexpr greg_t trap_flag = 0x100;
  static constexpr long patience_ns = 20'000'000;

  static void trap(ucontext_t& context) {
    greg_t& flags = context.uc_mcontext.gregs[REG_EFL];
    flags = stepping_ ? flags | trap_flag : flags & ~trap_flag;
    if (stepping_ && malloc_code_.contains(context.uc_mcontext.gregs[REG_RIP])) stop();
  }

  static void stop() {
    // The other thread waits for a lock that is held here: no stop before it has got it.
    if (stop_ != gone_on_from_) return;
    ++stop_;
    sem_post(&stopped_);
    timespec limit;
    clock_gettime(CLOCK_MONOTONIC, &limit);
    limit.tv_nsec += patience_ns;
    if (limit.tv_nsec >= 1'000'000'000) ++limit.tv_sec, limit.tv_nsec -= 1'000'000'000;
    while (stop_ != gone_on_from_)
      if (sem_clockwait(&may_go_on_, CLOCK_MONOTONIC, &limit) != 0 && errno == ETIMEDOUT) return;
  }

  static inline code_range malloc_code_;
  static inline std::atomic<bool> stepping_ = false;
  static inline std::atomic<bool> done_ = false;
  static inline std::atomic<unsigned> stop_ = 0;          // by the thread that steps
  static inline std::atomic<unsigned> gone_on_from_ = 0;  // by the other: the same, or one less
  // Wake the other thread, and this one; what is so is said by the numbers.
  static inline sem_t stopped_, may_go_on_;
  struct sigaction before_ = {};
};

// One block of each size, filled.
using one_of_each = std::array<unsigned char*, std::size(sizes)>;
constexpr std::size_t filled = 48;

one_of_each make_blocks(unsigned seed) {
  one_of_each result;
  for (unsigned i = 0; i < result.size(); ++i) {
    result[i] = static_cast<unsigned char*>(std::malloc(sizes[i]));
    if (result[i] == nullptr) std::abort();
    fill(result[i], filled, seed + i);
  }
  return result;
}

bool check_and_free(const one_of_each& blocks, unsigned seed) {
  for (unsigned i = 0; i < blocks.size(); ++i) {
    if (!holds(blocks[i], filled, seed + i)) return false;
    std::free(blocks[i]);
  }
  return true;
}

// Each size some times, so that a span may run dry, and empty; blocks that another thread allocated; one that
// grows.
void allocate_and_free(const one_of_each& foreign) {
  void* growing = nullptr;
  for (unsigned i = 0; i < std::size(sizes); ++i) {
    void* mine[3];
    for (void*& one : mine) one = std::malloc(sizes[i]);
    growing = std::realloc(growing, sizes[i]);
    std::free(foreign[i]);
    for (void* const one : mine) std::free(one);
  }
  std::free(growing);
}

// 0, or what is wrong with the heap of a child. `held`: blocks of threads that the child lost.
int live_as_child(const one_of_each& held) {
  alarm(10);
  constexpr unsigned times = 8;
  const auto use = [] {
    std::array<one_of_each, times> blocks;
    for (unsigned i = 0; i < times; ++i) blocks[i] = make_blocks(10 * i);
    for (unsigned i = 0; i < times; ++i)
      if (!check_and_free(blocks[i], 10 * i)) _exit(2);
  };
  use();
  std::thread(use).join();
  return check_and_free(held, 1000) ? 0 : 3;
}

TEST(Fork, AtEveryInstructionOfAnotherThread) {
  const single_stepper stepper;
  const one_of_each foreign = make_blocks(0);
  one_of_each held;
  std::thread other([&] {
    held = make_blocks(1000);
    single_stepper::run([&] { allocate_and_free(foreign); });
  });
  const unsigned every = 10 / rounds(10);
  unsigned stops = 0;
  int status = 0;
  for (; single_stepper::wait(); single_stepper::go_on(), ++stops) {
    if (status != 0 || stops % every != 0) continue;
    const pid_t child = fork();
    if (child == 0) _exit(live_as_child(held));
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0) << "at stop " << stops;
  }
  other.join();
  EXPECT_TRUE(check_and_free(held, 1000));
  EXPECT_GT(stops, 100U);
}

}  // namespace
}  // namespace stress
#endif
