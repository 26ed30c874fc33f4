#pragma once

#include <cstdlib>

#include "base/text_line.h"

namespace heaplab {

// Ends the process because of a fault that an allocator has found: writes a line that names the pointer to
// standard error, then aborts.
[[noreturn, gnu::noinline, gnu::cold]] inline void fatal(const char* what, const void* pointer = nullptr) {
  text_line line;
  line.add("heaplab: ").add(what);
  if (pointer != nullptr) line.add(": ").add_address(pointer);
  line.write_to(STDERR_FILENO);
  std::abort();
}

}  // namespace heaplab
