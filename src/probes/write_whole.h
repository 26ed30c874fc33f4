// Writes a text as a whole or not at all.
#pragma once

#include <string_view>

namespace heaplab::probes {

// Signals are blocked meanwhile, so that an interrupted program leaves the whole text or none of it. Returns
// 0, or the errno of the failure; a regular file is then truncated to its earlier size. Never allocates.
int write_whole(int file, std::string_view text);

}  // namespace heaplab::probes
