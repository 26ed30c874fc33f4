// The threads of a process, those that wait in a system call first.
#pragma once

#include <sys/types.h>

#include <vector>

namespace heaplab::ask {

// The first thread of the process comes before the others of its kind. Those that cannot be stopped at once
// are left out.
std::vector<pid_t> threads_of(pid_t process);

// Those that have not ended, in any state.
std::vector<pid_t> all_threads_of(pid_t process);

}  // namespace heaplab::ask
