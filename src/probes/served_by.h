// The library that answers malloc and operator new in this process.
#pragma once

namespace heaplab::probes {

struct loaded_library {
  char path[4096] = "";     // as the loader knows it; empty if no library defines the symbol
  char build_id[129] = "";  // GNU build-id in hexadecimal, read from the notes in memory; may be empty
};

// The library that defines `symbol` according to a dynamic look-up. Does not allocate.
loaded_library library_of_symbol(const char* symbol);

// The mangled name of operator new(std::size_t).
#if __SIZEOF_SIZE_T__ == 8
inline constexpr const char* operator_new_symbol = "_Znwm";
#else
inline constexpr const char* operator_new_symbol = "_Znwj";
#endif

}  // namespace heaplab::probes
