// Children of fork.
#pragma once

#include <sys/wait.h>

#include "base/assertion.h"

namespace heaplab::check {

// For a child that ends within milliseconds unless it hangs. Shorter than the patience of the runner
// (python/heaplab/check/patience.py), which does not know which child it was.
inline constexpr unsigned child_limit_s = 8;

// Waits for the end of a child; 0: it has ended with exit status 0.
inline int status_of(pid_t child) {
  HEAPLAB_ASSERT(child > 0);  // waitpid would take others for any child
  int status = -1;
  waitpid(child, &status, 0);
  return status;
}

}  // namespace heaplab::check
