#pragma once

#include "workloads/harness/measurement.h"
#include "workloads/harness/option_table.h"

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

// main() of a workload. Returns the exit status: 0 the run ended and all self-checks held, 1 the run failed
// or its result could not be written, 2 wrong usage. Writes the reason to standard error in one line.
int run_program(workload& work, int argc, char** argv);

}  // namespace heaplab::harness
