// Where the last act of a process begins, in which it tidies up: it frees what it held to its end, after main
// has returned or in destructors. What is told of the end of a run is told of the moment before.
#pragma once

#include <cstdint>

#include "trace/file/trace_file.h"

namespace heaplab::trace {

struct last_act {
  std::uint64_t begin =
      UINT64_MAX;  // stamp of its first event; if there is none, behind the end of the process
  std::uint64_t acquisitions = 0;  // of the process, before it
};

// The last fiftieth of the run in time and in events, or from where on there are next to no acquisitions, no
// pause of a twentieth of the run and 60 ms, and releases to the end; at most a fifth of the run. Reads the
// last frames of events alone.
last_act last_act_of(trace_file& file, std::uint32_t process);

}  // namespace heaplab::trace
