// How the local allocators fail.
#pragma once

#include <exception>

namespace heaplab::local {

// Throws an Exception. Code compiled without exceptions (-fno-exceptions) terminates the program instead, as
// an uncaught exception would.
template <class Exception>
[[noreturn]] inline void fail() {
#ifdef __cpp_exceptions
  throw Exception();
#else
  std::terminate();
#endif
}

}  // namespace heaplab::local
