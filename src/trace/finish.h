// Makes the trace file of what a program's processes wrote while they were recorded.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace heaplab::trace {

// Told now and then: bytes of records read so far, and in all.
using progress = std::function<void(std::uint64_t done, std::uint64_t whole)>;

// `folder` is left as it is; `file` is replaced when its new content is complete. Memory: a few MiB, 32 KiB a
// thread and 32 bytes a block that lives. Throws trace_error: nothing was recorded, or `file` cannot be
// written.
void finish(const std::string& folder, const std::string& file, const progress& report);

}  // namespace heaplab::trace
