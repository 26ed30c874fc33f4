// Runs code for several threads through every interleaving, up to a number of preemptions.
//
// The threads are fibers of one thread. Code under test takes its atomics from a template parameter Sync
// (src/concurrent/sync.h); explored_sync makes every operation on one a point at which the explorer decides
// who runs next. The decisions of a run are recorded; the next run repeats them up to the last point where
// another decision is left, and so on, depth first, until none is left. Most faults of lock-free code need
// only two preemptions, so a bound on these keeps the number of runs small (Musuvathi, Qadeer: PLDI 2007).
//
// What is explored is sequential consistency: store buffers and compilers are not.
#pragma once

#include <ucontext.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace heaplab::explore {

struct bounds {
  unsigned preemptions = 2;
  std::size_t runs = 2'000'000;  // more: a std::length_error, the program is too large to be explored
  std::size_t points = 20'000;   // in one run; more: the threads make no progress
};

struct outcome {
  std::size_t runs = 0;
  bool failed = false;
  std::string what;                // of the first failure
  std::vector<unsigned> schedule;  // the threads in the order in which they took their steps, of that run
};

// The program under exploration. A run is: setup, all threads, check. Throw to report a failure; check may be
// empty.
struct program {
  std::function<void()> setup;
  std::vector<std::function<void()>> threads;
  std::function<void()> check;
};

class explorer {
public:
  explicit explorer(program under_test, bounds limits = {});
  ~explorer();

  // Stops at the first failure.
  outcome explore();

  // --- for explored_sync ---

  // The explorer whose threads are running, or null.
  static explorer* running() { return running_; }
  // The thread is about to do an operation on an atomic.
  void point();
  // The thread sleeps until another one wakes it by the same address.
  void sleep(const void* place);
  // Wakes the first of the threads that sleep there, if there is one.
  void wake_one(const void* place);

private:
  struct fiber;
  struct decision {
    unsigned taken;    // index among the options
    unsigned options;  // how many there were
  };

  void run_once();
  bool next_schedule();
  unsigned choose(bool current_may_go_on);
  void switch_to(unsigned thread);
  [[noreturn]] void thread_ended();
  [[noreturn]] void end_run(const char* failure);
  std::vector<unsigned> runnable() const;
  static void fiber_main();

  program program_;
  bounds bounds_;
  std::vector<std::unique_ptr<fiber>> fibers_;
  ucontext_t main_context_;

  std::vector<decision> decisions_;
  std::size_t depth_ = 0;
  std::vector<unsigned> schedule_;
  unsigned preemptions_ = 0;
  unsigned current_ = 0;
  std::string failure_;

  static inline explorer* running_ = nullptr;
};

// An atomic whose operations are decision points. Memory orders are accepted and taken as sequentially
// consistent.
template <class T>
class explored_atomic {
public:
  using value_type = T;

  constexpr explored_atomic() = default;
  constexpr explored_atomic(T value) : value_(value) {}
  explored_atomic(const explored_atomic&) = delete;
  explored_atomic& operator=(const explored_atomic&) = delete;

  T load(std::memory_order = {}) const {
    point();
    return value_;
  }
  void store(T value, std::memory_order = {}) {
    point();
    set(value);
  }
  T exchange(T value, std::memory_order = {}) {
    point();
    const T old = value_;
    set(value);
    return old;
  }
  T fetch_add(T value, std::memory_order = {}) {
    point();
    const T old = value_;
    set(static_cast<T>(old + value));
    return old;
  }
  T fetch_or(T value, std::memory_order = {}) {
    point();
    const T old = value_;
    set(static_cast<T>(old | value));
    return old;
  }
  bool compare_exchange_strong(T& expected, T wanted, std::memory_order = {}, std::memory_order = {}) {
    point();
    if (value_ != expected) {
      expected = value_;
      return false;
    }
    set(wanted);
    return true;
  }
  bool compare_exchange_weak(T& expected, T wanted, std::memory_order = {}, std::memory_order = {}) {
    return compare_exchange_strong(expected, wanted);
  }

private:
  static void point() {
    if (explorer* const it = explorer::running()) it->point();
  }
  void set(T value) { value_ = value; }

  T value_{};
};

struct explored_sync {
  template <class T>
  using atomic = explored_atomic<T>;

  using word = atomic<std::uint32_t>;

  // To try again before one sleeps makes more interleavings, and none that differs.
  static constexpr unsigned attempts_before_sleep = 0;
  static void pause() {}

  // No other thread runs between the look at `place` and the sleep, as futex(2) promises.
  static void sleep(const word& place, std::uint32_t seen) {
    if (place.load(std::memory_order_relaxed) == seen) explorer::running()->sleep(&place);
  }
  static void wake_one(const word& place) {
    explorer::running()->point();
    explorer::running()->wake_one(&place);
  }
};

}  // namespace heaplab::explore
