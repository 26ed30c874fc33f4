#pragma once

#include <string>

#include "workloads/harness/program.h"

namespace heaplab::harness {

struct request {
  service_options services;
  std::string json;       // where to: a file, "-", "fd:N", or empty
  bool estimate = false;  // say what memory the run would need instead of running
  std::string text;       // what --help or --version show; if not empty there is nothing else to do
};

// Reads the command line into the variables of `options`, to which the services every workload has are
// added. Throws usage_error.
void read_command_line(const description& about, option_table& options, request& wanted, int argc,
                       char** argv);

}  // namespace heaplab::harness
