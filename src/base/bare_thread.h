// A thread of which the C library knows nothing, for work that a malloc does aside.
//
// pthread_create cannot be used inside a malloc: the C library calls free while it holds the lock of its
// cache of stacks, which pthread_create takes. A thread of the C library would also be counted as a second
// thread of the program, for good, and would keep a process alive whose last own thread has ended.
//
// The thread has thread-local variables of its own, all zero, so that errno is there. Its function may use
// system calls, atomics and locks of this project; no other thread-local variable, and nothing of the C
// library that knows its threads, locks or allocates. All signals are blocked, so that no handler of the
// program runs there. Policy, processors and files are not those of the thread that starts it
// (process_conditions.h).
#pragma once

#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/atomic.h"
#include "base/bits.h"
#include "base/blocked_signals.h"
#include "base/errno_keeper.h"
#include "base/os_pages.h"
#include "base/process_conditions.h"

namespace heaplab {

class bare_thread {
public:
  using body = int (*)(void*);

  // Calls run(argument) in a thread that ends with the function, on the processors `where`, or, if the set is
  // empty, on those of the calling thread. False: the system refuses, or the function that was started before
  // still runs. Called by one thread at a time.
  bool start(body run, void* argument, const processor_set& where) {
    if (!is_possible || !has_ended() || !prepare()) return false;
    // relaxed: read next by the kernel, which clears the word, or by a thread that the caller synchronises
    // with.
    is_alive_.store(1, std::memory_order_relaxed);
    run_ = run, argument_ = argument, where_ = where;
    const errno_keeper keep;
    const blocked_signals quiet;
    // The flags of the C library's own threads: a seccomp filter that allows threads compares all of them.
    constexpr int flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM |
                          CLONE_SETTLS | CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID;
    pid_t number;
    if (::clone(begin, stack_end_, flags, this, &number, thread_pointer_, &is_alive_) >= 0) return true;
    is_alive_.store(0, std::memory_order_relaxed);
    return false;
  }

  // Whether another can be started. acquire pairs with the kernel's store when the thread has ended: its
  // stack is free.
  bool has_ended() const { return is_alive_.load(std::memory_order_acquire) == 0; }

  // In the child of a fork, where the thread does not exist.
  void forget() { is_alive_.store(0, std::memory_order_relaxed); }

private:
  static int begin(void* self) {
    const auto& thread = *static_cast<bare_thread*>(self);
    take_process_conditions(thread.where_);
    return thread.run_(thread.argument_);
  }

  // Instrumented code needs what the sanitizers keep for each thread of the C library.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  static constexpr bool is_possible = false;
#else
  static constexpr bool is_possible = true;
#endif
  static constexpr std::size_t least_stack_bytes = std::size_t{32} << 10;
  // What the compiler and the C library expect around the thread pointer: on x86-64 its own address at two
  // places, and the values that guard stacks and pointers.
  static constexpr std::size_t header_bytes = 64, around_bytes = 512;

  // | a page without access | stack | the bytes around the thread pointer that hold errno |
  // Pages that are never touched cost nothing, so that the distance of errno, which other thread-local
  // variables of the program determine, does not matter.
  bool prepare() {
    char* const own = static_cast<char*>(__builtin_thread_pointer());
    if (thread_pointer_ == nullptr) {
      const std::ptrdiff_t distance = reinterpret_cast<char*>(&errno) - own;
      const std::size_t before = distance < 0 ? static_cast<std::size_t>(-distance) : 0;
      const std::size_t behind = distance > 0 ? static_cast<std::size_t>(distance) : 0;
      const std::size_t page = os_pages::page_bytes();
      const std::size_t below = align_up(before + around_bytes, page);
      const std::size_t stack = align_up(least_stack_bytes, page);
      const std::size_t bytes = stack + below + align_up(behind + around_bytes, page);
      auto* const place = static_cast<char*>(os_pages::reserve_without_access(page + bytes, page));
      if (place == nullptr) return false;
      if (!os_pages::make_accessible(place + page, bytes)) return os_pages::unmap(place, page + bytes), false;
      stack_end_ = place + page + stack;
      thread_pointer_ = stack_end_ + below;
    }
#if defined(__x86_64__)
    std::memcpy(thread_pointer_, own, header_bytes);
    auto** const words = reinterpret_cast<char**>(thread_pointer_);
    words[0] = words[2] = thread_pointer_;
#endif
    return true;
  }

  // 1 from before the thread exists until it has ended and the kernel clears the word (CLONE_CHILD_CLEARTID).
  atomic<std::uint32_t> is_alive_{0};
  // For the thread to read.
  body run_ = nullptr;
  void* argument_ = nullptr;
  processor_set where_;
  // Both point into one mapping, which is never unmapped.
  char* stack_end_ = nullptr;
  char* thread_pointer_ = nullptr;
};

}  // namespace heaplab
