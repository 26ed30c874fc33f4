#pragma once

#include <string>

#include "workloads/harness/program.h"

namespace heaplab::harness {

struct request {
  service_options services;
  std::string json;       // destination: a file, "-", "fd:N", or empty
  bool estimate = false;  // print the memory that the run would need, and do not run
  std::string text;       // output of --help or --version; if not empty, the program only prints it
};

// Reads the command line into the variables of `options` and adds the options of the services that every
// workload has. Throws usage_error.
void read_command_line(const description& about, option_table& options, request& wanted, int argc,
                       char** argv);

}  // namespace heaplab::harness
