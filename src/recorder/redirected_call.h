// What a redirected function does in place of its first instructions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

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
bool write_code(redirected_entry& entry);

// Has every processor fetch the code that has been written.
inline void publish(void* code, std::size_t bytes) {
  char* const begin = static_cast<char*>(code);
  __builtin___clear_cache(begin, begin + bytes);
}

template <class Value>
std::uint8_t* put(std::uint8_t* to, const Value& value) {
  std::memcpy(to, &value, sizeof value);
  return to + sizeof value;
}

}  // namespace heaplab::recorder
