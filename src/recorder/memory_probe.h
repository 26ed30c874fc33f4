// Asks the system whether memory can be used: where a load or a store would raise a signal, the system call
// fails instead. rt_sigprocmask is a call that every program may make, and that changes nothing here.
#pragma once

#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>

#include "base/errno_keeper.h"

namespace heaplab::recorder {

inline constexpr std::size_t signal_set_bytes = 8;  // of the kernel

// Whether 8 bytes can be read there.
inline bool can_read(std::uint64_t address) {
  const errno_keeper keep;
  constexpr int no_action = -1;  // refused, but only after the set was read
  return ::syscall(SYS_rt_sigprocmask, no_action, address, nullptr, signal_set_bytes) == 0 || errno != EFAULT;
}

// Whether 8 bytes can be written there, which are zero afterwards. Precondition: they were zero.
inline bool can_write(char* address) {
  const errno_keeper keep;
  // The mask of signals is asked for, which is stored there.
  if (::syscall(SYS_rt_sigprocmask, SIG_BLOCK, nullptr, address, signal_set_bytes) != 0) return false;
  std::memset(address, 0, signal_set_bytes);
  return true;
}

}  // namespace heaplab::recorder
