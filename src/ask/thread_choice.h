// The threads of a process, those that wait in a system call first.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace heaplab::ask {

// The first thread of the process comes before the others of its kind. Those that cannot be stopped at once
// are left out.
std::vector<pid_t> threads_of(pid_t process);

// Those in any state, also ended.
std::vector<pid_t> all_threads_of(pid_t process);

bool has_ended(pid_t process, pid_t thread);

// A number that /proc tells of a thread behind this name.
std::optional<std::uint64_t> number_in_status(pid_t process, pid_t thread, std::string_view name, int base);

}  // namespace heaplab::ask
