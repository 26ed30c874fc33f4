#pragma once

#include <cstddef>

namespace heaplab {

// Two fields written by different threads lie at least this far apart.
inline constexpr std::size_t cache_line_bytes = 64;

}  // namespace heaplab
