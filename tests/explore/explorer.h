// Runs the code of several threads through every interleaving with at most a given number of preemptions.
//
// The threads are fibers of one thread. Code under test takes its atomics from a template parameter Sync
// (src/concurrent/sync.h); with explored_sync, every atomic operation is a point at which the explorer
// decides which thread runs next. The decisions of a run are recorded. The next run repeats them up to the
// last point with an untried decision, takes that decision, and so on, depth first, until none is left. Most
// faults of lock-free code need only two preemptions, so a bound on preemptions keeps the number of runs
// small (Musuvathi, Qadeer: PLDI 2007).
//
// Only sequentially consistent executions are explored: effects of store buffers and of compilers are not.
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

#include "explore/observed_atomic.h"

namespace heaplab::explore {

struct bounds {
  unsigned preemptions = 2;
  std::size_t runs = 2'000'000;  // beyond: std::length_error, the program is too large to be explored
  std::size_t points = 20'000;   // in one run; beyond: the threads make no progress
};

struct outcome {
  std::size_t runs = 0;
  bool failed = false;
  std::string what;                // description of the first failure
  std::vector<unsigned> schedule;  // the order in which the threads of that run took their steps
};

// The program under exploration. A run calls setup, then all threads, then check. Each of them throws to
// report a failure; check may be empty.
struct program {
  std::function<void()> setup;
  std::vector<std::function<void()>> threads;
  std::function<void()> check;
  // What holds at every moment. Called after each operation that may have changed an atomic, in whatever
  // state the threads are, of the first runs and of every sixteenth that follows them; throws to report a
  // failure; may be empty.
  std::function<void()> invariant = {};
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
  // Called when the thread is about to do an operation on an atomic, which may write it.
  void point(bool writes = false);
  // The thread sleeps until another thread wakes it through the same address.
  void sleep(const void* place);
  // Wakes the first thread that sleeps at this address, if there is one.
  void wake_one(const void* place);

private:
  struct fiber;
  struct decision {
    unsigned taken;    // index of the chosen option
    unsigned options;  // number of options
  };

  void run_once();
  bool next_schedule();
  unsigned choose(bool current_may_go_on);
  void switch_to(unsigned thread);
  // Whether the invariant holds, or nothing was written since it was last looked at. Else failure_ says why.
  bool keeps_invariant();
  [[noreturn]] void thread_ended();
  [[noreturn]] void end_run();
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
  bool looks_ = true;     // at the invariant, in this run
  bool written_ = false;  // since the invariant was last looked at

  static inline explorer* running_ = nullptr;
};

// Makes every operation of an atomic a decision point.
struct decision_points {
  static void reads(const void*) { point(false); }
  static void writes(const void*) { point(true); }
  static void changes(const void*) { point(true); }

private:
  static void point(bool writes) {
    if (explorer* const it = explorer::running()) it->point(writes);
  }
};

template <class T>
struct explored_atomic : observed_atomic<T, decision_points> {
  using observed_atomic<T, decision_points>::observed_atomic;
};

struct explored_sync {
  template <class T>
  using atomic = explored_atomic<T>;

  using word = atomic<std::uint32_t>;

  // No attempts before sleeping: they would add interleavings, but none with a different result.
  static constexpr unsigned attempts_before_sleep = 0;
  static void pause() {}

  // No other thread runs between the check of `place` and the sleep, as futex(2) guarantees.
  static void sleep(const word& place, std::uint32_t seen) {
    if (place.load(std::memory_order_relaxed) == seen) explorer::running()->sleep(&place);
  }
  static void wake_one(const word& place) {
    explorer::running()->point(false);
    explorer::running()->wake_one(&place);
  }
  static bool is_alone() { return false; }
  static bool barrier() { return true; }
};

}  // namespace heaplab::explore
