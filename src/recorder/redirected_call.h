// What a redirected function does in place of its first instructions.
#pragma once

#include <cstdint>

#include "recorder/redirection.h"

namespace heaplab::recorder {

// A redirected function, and the code by which it is entered and called. Lies near the function.
struct redirected_entry {
  std::uint8_t enter[40];  // the function begins with a jump to this code
  std::uint8_t call[64];   // does what the function did before
  redirected_function function;
};
static_assert(sizeof(redirected_entry) == 208);

// Writes the code of an entry. False: a displacement of the function does not reach from there.
bool write_code(redirected_entry& entry, std::uint64_t function);

}  // namespace heaplab::recorder
