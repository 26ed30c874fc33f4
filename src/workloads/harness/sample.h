// The result of a run in its two forms.
#pragma once

#include <string>

#include "probes/json_line.h"
#include "workloads/harness/program.h"

namespace heaplab::harness {

// The line that records.Sample of the Python package reads. Does not use the heap.
void write_sample(const description& about, const option_table& options, const measurement& measured,
                  probes::json_line& json);

// A few lines for people.
std::string summarise(const description& about, const measurement& measured);

}  // namespace heaplab::harness
