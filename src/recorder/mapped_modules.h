// The files that a process has mapped, by which addresses of calls become places in source files.
#pragma once

#include <cstdint>

namespace heaplab::recorder {

// Appends to the file a line "@STAMP" in hexadecimal, the mappings of that moment, as the kernel writes them,
// and then their build-ids (build_ids.h). A program may load libraries late, and unload them.
void append_modules(const char* path, std::uint64_t stamp);

}  // namespace heaplab::recorder
