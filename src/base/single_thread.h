#pragma once

#if __has_include(<sys/single_threaded.h>)
#include <sys/single_threaded.h>
#endif

namespace heaplab {

// True only while the calling thread is the one thread of the process that the C library has made. Always
// false where the C library does not tell (before glibc 2.32, in a namespace of dlmopen).
inline bool is_single_threaded() {
#if __has_include(<sys/single_threaded.h>)
  return __libc_single_threaded != 0;
#else
  return false;
#endif
}

}  // namespace heaplab
