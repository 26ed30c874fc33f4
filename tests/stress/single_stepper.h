// One thread runs the malloc library an instruction at a time. On x86-64.
#pragma once

#include <link.h>
#include <semaphore.h>
#include <ucontext.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <cstdlib>

#include "base/atomic.h"

namespace heaplab::check {

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

// Calls a function after each instruction of the malloc library that a thread runs.
class stepped_library {
public:
  explicit stepped_library(void (*after_each)()) {
    after_each_ = after_each;
    code_ = code_range::of_malloc();
    process_ = getpid();
    struct sigaction action = {};
    action.sa_sigaction = [](int, siginfo_t*, void* context) { trap(*static_cast<ucontext_t*>(context)); };
    action.sa_flags = SA_SIGINFO;
    sigaction(SIGTRAP, &action, &before_);
  }
  ~stepped_library() { sigaction(SIGTRAP, &before_, nullptr); }
  stepped_library(const stepped_library&) = delete;
  stepped_library& operator=(const stepped_library&) = delete;

  // By the thread that steps.
  template <class Work>
  static void run(Work work) {
    stepping_.store(true, std::memory_order_relaxed);
    raise(SIGTRAP);
    work();
    stepping_.store(false, std::memory_order_relaxed);
    raise(SIGTRAP);
  }

private:
  static constexpr greg_t trap_flag = 0x100;

  static void trap(ucontext_t& context) {
    greg_t& flags = context.uc_mcontext.gregs[REG_EFL];
    // Written by this thread. A child that the thread makes inherits the flag.
    const bool steps = stepping_.load(std::memory_order_relaxed) && getpid() == process_;
    flags = steps ? flags | trap_flag : flags & ~trap_flag;
    if (steps && code_.contains(context.uc_mcontext.gregs[REG_RIP])) after_each_();
  }

  static inline void (*after_each_)() = nullptr;
  static inline code_range code_;
  static inline pid_t process_ = 0;
  static inline atomic<bool> stepping_ = false;
  struct sigaction before_ = {};
};

// Lets one thread run one instruction of the malloc library at a time, and another do something after each.
class single_stepper {
public:
  single_stepper() : library_(stop) {
    stop_.store(0, std::memory_order_relaxed);
    gone_on_from_.store(0, std::memory_order_relaxed);
    done_.store(false, std::memory_order_relaxed);
    sem_init(&stopped_, 0, 0);
    sem_init(&may_go_on_, 0, 0);
  }

  // By the thread that steps.
  template <class Work>
  static void run(Work work) {
    stepped_library::run(work);
    done_.store(true, std::memory_order_release);  // pairs with wait
    sem_post(&stopped_);
  }

  // By the other thread: waits for the next stop. False: there is none any more.
  static bool wait() {
    // Both acquire: what the other thread did before it stopped or ended is seen.
    while (stop_.load(std::memory_order_acquire) == gone_on_from_.load(std::memory_order_relaxed)) {
      if (done_.load(std::memory_order_acquire)) return false;
      sem_wait(&stopped_);
    }
    return true;
  }
  static void go_on() {
    gone_on_from_.fetch_add(1, std::memory_order_release);  // pairs with stop
    sem_post(&may_go_on_);
  }

private:
  static void stop() {
    const unsigned mine = stop_.fetch_add(1, std::memory_order_release) + 1;  // pairs with wait
    sem_post(&stopped_);
    while (gone_on_from_.load(std::memory_order_acquire) != mine) sem_wait(&may_go_on_);
  }

  static inline atomic<bool> done_ = false;
  static inline atomic<unsigned> stop_ = 0;          // by the thread that steps
  static inline atomic<unsigned> gone_on_from_ = 0;  // by the other: the same, or one less
  // Wake the other thread, and this one; what is so is said by the numbers.
  static inline sem_t stopped_, may_go_on_;
  const stepped_library library_;
};

}  // namespace heaplab::check
