#pragma once

#include <cstdint>

#include "base/atomic.h"
#include "workloads/harness/measurement.h"
#include "workloads/harness/option_table.h"
#include "workloads/harness/short_threads.h"

namespace heaplab::harness {

// All members are string literals.
struct description {
  const char* name;         // of the program
  const char* summary;      // one line: what the program exercises
  const char* example;      // a command line that works
  bool times_calls = true;  // whether the workload makes single calls that can be timed: offers --latency
};

// The interface that the author of a workload implements. The members that hold the options contain the
// defaults.
class workload {
public:
  virtual ~workload() = default;

  virtual description describe() const = 0;
  // Declares the options in the order in which --help shows them.
  virtual void declare(option_table& options) = 0;
  // Checks the options together, after the command line was read. Throws usage_error for impossible
  // combinations; may set defaults that depend on other options.
  virtual void check(const option_table& /*options*/) {}
  // The sizes of the workload's objects, for --aged. Called after check().
  virtual size_mix sizes() const { return {}; }
  // Does the work and adds metrics, series and self-checks. All memory of the heap under test is freed on
  // return. Throws usage_error or run_error.
  virtual void run(measurement& measured) = 0;
};

// A workload whose threads start together: the clock runs while they are in run(thread).
class team_workload : public workload, protected probes::team_task {
public:
  // For a thread of the team: calls live() on a new thread and waits for its end. False if the system refuses
  // the thread, which makes the run fail.
  template <class Live>
  bool run_in_thread(const Live& live) {
    const auto begin = [](void* call) -> void* {
      (*static_cast<const Live*>(call))();
      return nullptr;
    };
    try {
      pthread_join(start_thread(begin, const_cast<Live*>(&live)), nullptr);
    } catch (const run_error&) {
      refused_.store(true, std::memory_order_relaxed);  // read when the team has been joined
      return false;
    }
    return true;
  }

protected:
  // Runs a team of `threads_` through the calls of team_task (probes/thread_team.h).
  void run_team(measurement& measured) {
    measured_ = &measured;
    measured.run_team(static_cast<unsigned>(threads_), *this);
    measured.verify(!refused_.load(std::memory_order_relaxed), "every thread could be started");
  }

  // Calls live() `lives` times, each time on a new thread, one after the other. A single life is the caller's
  // own, so that a workload of one thread makes a single-threaded process.
  template <class Live>
  void run_lives(std::uint64_t lives, const Live& live) {
    if (lives == 1) return live();
    while (lives > 0 && run_in_thread(live)) --lives;
  }

  std::uint64_t threads_ = 1;        // of the team; most workloads declare an option for them
  measurement* measured_ = nullptr;  // while the team is at work, and after

private:
  atomic<bool> refused_{false};
};

// main() of a workload. Returns the exit status: 0 the run ended and all self-checks held, 1 the run failed
// or its result could not be written, 2 wrong usage. Writes the reason to standard error in one line.
int run_program(workload& work, int argc, char** argv);

template <class Workload>
int run_program(int argc, char** argv) {
  Workload work;
  return run_program(work, argc, argv);
}

}  // namespace heaplab::harness
