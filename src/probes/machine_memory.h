#pragma once

#include <cstdint>

namespace heaplab::probes {

// The bytes that this process can still get: the available memory of the machine, or less if a limit of the
// control group or of the process (RLIMIT_AS, RLIMIT_DATA) allows less.
std::uint64_t available_memory();

}  // namespace heaplab::probes
