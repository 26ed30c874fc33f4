// What the file of a process says about the process, and the clocks by which stamps become times.
#pragma once

#include "trace/raw/raw_file.h"

namespace heaplab::recorder {

// A stamp, and the time by two clocks.
trace::raw_moment now();

// Writes the name of the process's files, without an ending, and returns the end of the text. The names of a
// folder sort by the time at which the files were opened.
char* name_process(char* to, const char* folder, const trace::raw_moment& begun);

// Fills in the header of a new file, its magic number last.
void describe_process(trace::raw_header& header, const trace::raw_moment& begun, bool is_forked);

}  // namespace heaplab::recorder
