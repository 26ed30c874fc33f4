// The control block of a recording: a file in the folder of the recording, mapped by every process.
#pragma once

#include "trace/raw_file.h"

namespace heaplab::recorder {

// Null: the folder has no control block.
trace::raw_control* map_control(const char* folder);

// Counts bytes of a file against the limit of the recording. False, and the reason: they exceed the limit.
bool take_from_limit(trace::raw_control& control, std::size_t bytes, trace::loss& why);

}  // namespace heaplab::recorder
