// The files that a process has mapped, by which addresses of calls become places in source files.
#pragma once

namespace heaplab::recorder {

// Appends the present mappings to the file, as the kernel writes them, and then their build-ids
// (build_ids.h). Called as the recording grows, and at its end: a program may load libraries late.
void note_modules(const char* path);

}  // namespace heaplab::recorder
