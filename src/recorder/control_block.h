// The control block of a recording: a file in the folder of the recording, mapped by every process.
#pragma once

#include "trace/raw/raw_file.h"

namespace heaplab::recorder {

// Null: the folder has no control block. With `at`, the mapping there is replaced.
trace::raw_control* map_control(const char* folder, trace::raw_control* at = nullptr);

// Counts bytes of a file against the limit of the recording. False: they exceed the limit, and do not count.
bool take_from_limit(trace::raw_control& control, std::size_t bytes);
void give_back_to_limit(trace::raw_control& control, std::size_t bytes);

}  // namespace heaplab::recorder
