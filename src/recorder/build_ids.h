// The build-ids of the files that a process has mapped, by which people find their symbols later.
#pragma once

namespace heaplab::recorder {

// Appends to an open file, for each mapped ELF file that has a build-id, a line "#START ID" in hexadecimal:
// START is the address at which the beginning of the file is mapped. Takes less than 4 KiB of stack.
void append_build_ids(int to);

}  // namespace heaplab::recorder
