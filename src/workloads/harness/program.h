#pragma once

#include "workloads/harness/measurement.h"
#include "workloads/harness/option_table.h"

namespace heaplab::harness {

// String literals.
struct description {
  const char* name;         // of the program
  const char* summary;      // one line: what it exercises
  const char* example;      // a command line that works
  bool times_calls = true;  // whether it has single calls to time: offers --latency
};

// What the author of a workload writes. The members that hold the options carry the defaults.
class workload {
public:
  virtual ~workload() = default;

  virtual description describe() const = 0;
  // Declares the options in the order in which --help shows them.
  virtual void declare(option_table& options) = 0;
  // Looks at the options together, after the command line was read. Throws usage_error for what cannot be;
  // may settle defaults that depend on other options.
  virtual void check(const option_table& /*options*/) {}
  // The sizes of its objects as far as --aged is concerned. Asked for after check().
  virtual size_mix sizes() const { return {}; }
  // Does the work and fills in metrics, series and self-checks. All memory from the heap under test is
  // freed when it returns. Throws usage_error or run_error.
  virtual void run(measurement& measured) = 0;
};

// main() of a workload. Returns the exit status: 0 done and all self-checks held, 1 the run failed or its
// result could not be written, 2 wrong usage. Says why in one line on standard error.
int run_program(workload& work, int argc, char** argv);

}  // namespace heaplab::harness
