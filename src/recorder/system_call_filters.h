// Filters of system calls (seccomp). A filter may end the program at any call that the program itself does
// not make. The recorder therefore makes none once the program has installed a filter: it records into what
// was mapped before. A program that begins under more filters than the recording itself runs under is not
// recorded.
#pragma once

#include "base/atomic.h"

namespace heaplab::recorder {

// True from just before the program installs a filter, also in its children of fork. relaxed: other threads
// may be in a call meanwhile, which no filter of another thread concerns.
inline constinit atomic<bool> calls_are_barred = false;

inline bool may_call_system() {
  return !calls_are_barred.load(std::memory_order_relaxed);
}

// How many filters this process runs under.
unsigned filters_here();

}  // namespace heaplab::recorder
