// Children of fork.
#pragma once

#include <sys/wait.h>

namespace heaplab::check {

// Waits for the end of a child; 0: it has ended with exit status 0.
inline int status_of(pid_t child) {
  int status = -1;
  waitpid(child, &status, 0);
  return status;
}

}  // namespace heaplab::check
