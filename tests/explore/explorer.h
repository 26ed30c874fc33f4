// Runs the code of several threads through every interleaving with at most a given number of preemptions.
//
// The threads are fibers of one thread. Code under test takes its atomics from a template parameter Sync
// (src/concurrent/sync.h); with explored_sync, every operation on an atomic where threads meet is a point at
// which the explorer decides which thread runs next. The decisions of a run are recorded. The next run
// repeats them up to the last point with an untried decision, takes that decision, and so on, depth first,
// until none is left. Most faults of lock-free code need only two preemptions, so a bound on preemptions
// keeps the number of runs small (Musuvathi, Qadeer: PLDI 2007).
//
// Threads meet at an atomic that one of them writes and another reads or writes. No thread can tell whether
// another was preempted before or behind an operation on any other atomic: such a preemption is the same as
// one at the next point, or as none if the thread ends before it. Where threads meet is learned: an
// exploration whose runs show one more such atomic begins anew. An atomic is known by its address. A program
// that does not have its atomics at the same addresses in all runs is explored with a point at every
// operation.
//
// Only sequentially consistent executions are explored: effects of store buffers and of compilers are not.
#pragma once

#include <ucontext.h>

#include <array>
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

// How a thread or a check reports a failure.
inline void require(bool condition, const char* what) {
  if (!condition) throw std::runtime_error(what);
}

struct bounds {
  unsigned preemptions = 2;
  std::size_t runs = 2'000'000;  // beyond: std::length_error, the program is too large to be explored
  std::size_t steps = 20'000;    // in one run; beyond: the threads make no progress
};

struct outcome {
  std::size_t runs = 0;
  bool failed = false;
  std::string what;                // description of the first failure
  std::vector<unsigned> schedule;  // the thread that went on at each point of that run
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
  // Called when the thread is about to do an operation on the atomic at `place`, which may write it.
  void step(const void* place, bool writes);
  // Called when the thread is about to do something else that other threads may see.
  void point();
  // The thread sleeps until another thread wakes it through the same address.
  void sleep(const void* place);
  // Wakes the first thread that sleeps at this address, if there is one.
  void wake_one(const void* place);

private:
  struct fiber;
  struct decision {
    unsigned taken;     // index of the chosen option
    unsigned options;   // number of options
    std::size_t steps;  // of the run before it: the same whenever the decision is repeated
  };
  // How the threads of a run used an atomic.
  struct use {
    const void* place;
    unsigned first;  // thread
    bool meets;      // whether it was known before this run that threads meet there
    bool by_others = false;
    bool written = false;
  };

  void run_once();
  // Notes the atomics that several threads of the last run used. True if one is new, so that the exploration
  // has to start again.
  bool learn();
  bool meets_at(const void* place) const;
  use& use_of(const void* place);
  bool next_schedule();
  unsigned choose(bool current_may_go_on);
  void switch_to(unsigned thread);
  void go_on(bool may_switch);
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
  std::size_t steps_ = 0;
  std::vector<use> uses_;                    // of this run
  std::array<std::size_t, 1024> guesses_{};  // where in uses_ an atomic was found last, by its address
  std::vector<const void*> meeting_at_;      // the same from the first run of an exploration to the last
  std::size_t learned_ = 0;                  // times that the exploration began anew
  bool knows_places_ = true;                 // addresses are the same in all runs
  bool diverged_ = false;                    // a decision of the last run came at another moment than before
  unsigned preemptions_ = 0;
  unsigned current_ = 0;
  std::string failure_;
  bool looks_ = true;     // at the invariant, in this run
  bool written_ = false;  // since the invariant was last looked at

  static inline explorer* running_ = nullptr;
};

// Makes every operation of an atomic a decision point.
struct decision_points {
  static void reads(const void* place) { step(place, false); }
  static void writes(const void* place) { step(place, true); }
  static void changes(const void* place) { step(place, true); }

private:
  static void step(const void* place, bool writes) {
    if (explorer* const running = explorer::running()) running->step(place, writes);
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
    explorer::running()->point();
    explorer::running()->wake_one(&place);
  }
  static bool is_alone() { return false; }
  static bool barrier() { return true; }
};

}  // namespace heaplab::explore
