#pragma once

#include <cstdint>

namespace heaplab::probes {

// Bytes this process can still take: what the machine has available, or less under a limit of the control
// group or of the process (RLIMIT_AS, RLIMIT_DATA).
std::uint64_t available_memory();

}  // namespace heaplab::probes
