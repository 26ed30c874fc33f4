#pragma once

#include <cstdlib>

#include "base/text_line.h"

namespace heaplab {

// The one way an allocator gives up: a line on standard error that names the pointer, then abort.
[[noreturn, gnu::noinline, gnu::cold]] inline void fatal(const char* what, const void* pointer = nullptr) {
  text_line line;
  line.add("heaplab: ").add(what);
  if (pointer != nullptr) line.add(": ").add_address(pointer);
  line.write_to(STDERR_FILENO);
  std::abort();
}

}  // namespace heaplab
