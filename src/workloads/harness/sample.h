// The two output forms of the result of a run.
#pragma once

#include <string>

#include "probes/json_line.h"
#include "workloads/harness/program.h"

namespace heaplab::harness {

// Writes the line of JSON that records.Sample of the Python package reads. Does not use the heap under test.
void write_sample(const description& about, const option_table& options, const measurement& measured,
                  probes::json_line& json);

// A summary of a few lines for people.
std::string summarise(const description& about, const measurement& measured);

}  // namespace heaplab::harness
