#pragma once

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace heaplab {

// A full memory barrier in every thread of the process, wherever each stands (membarrier, Linux 4.14). False:
// the system refuses. Changes errno.
inline bool process_barrier() {
  const auto command = [](int which) { return ::syscall(SYS_membarrier, which, 0, 0) == 0; };
  return command(MEMBARRIER_CMD_PRIVATE_EXPEDITED) ||
         (command(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) && command(MEMBARRIER_CMD_PRIVATE_EXPEDITED));
}

// In every other thread of the process a restartable sequence (rseq_area.h) that has begun before the call is
// aborted or has committed when the call returns (Linux 5.10). False: the system refuses. Changes errno.
inline bool restart_barrier() {
  const auto command = [](int which) { return ::syscall(SYS_membarrier, which, 0, 0) == 0; };
  return command(MEMBARRIER_CMD_PRIVATE_EXPEDITED_RSEQ) ||
         (command(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_RSEQ) &&
          command(MEMBARRIER_CMD_PRIVATE_EXPEDITED_RSEQ));
}

}  // namespace heaplab
