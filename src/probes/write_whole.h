// Text that reaches a file as a whole or not at all.
#pragma once

#include <string_view>

namespace heaplab::probes {

// Signals wait meanwhile, so that an interrupted program leaves the whole text or none. Returns 0, or the
// errno of the failure, when a regular file is cut back to what it held before. Never allocates.
int write_whole(int file, std::string_view text);

}  // namespace heaplab::probes
