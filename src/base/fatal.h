#pragma once

#include <cstddef>
#include <cstdlib>

#include "base/text_line.h"

namespace heaplab {

// Ends the process because of a fault that an allocator has found: writes a line that names the pointer, and
// the size of its block where that is known (not 0), to standard error, then aborts.
[[noreturn, gnu::noinline, gnu::cold]] inline void fatal(const char* what, const void* pointer = nullptr,
                                                         std::size_t block_bytes = 0) {
  text_line line;
  line.add("heaplab: ").add(what);
  if (block_bytes != 0) line.add(" (block of ").add_decimal(block_bytes).add(" bytes)");
  if (pointer != nullptr) line.add(": ").add_address(pointer);
  line.write_to(STDERR_FILENO);
  std::abort();
}

}  // namespace heaplab
