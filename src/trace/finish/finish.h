// Makes the trace file from the files that the processes of a program wrote while they were recorded.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace heaplab::trace {

// Called now and then with the bytes of records read so far, and the bytes of all records.
using progress = std::function<void(std::uint64_t done, std::uint64_t whole)>;

// `folder` stays as it is; `file` is replaced when its new content is complete. Memory: a few MiB, 32 KiB for
// each thread and 32 bytes for each live block. Throws trace_error if nothing was recorded or `file` cannot
// be written.
void finish(const std::string& folder, const std::string& file, const progress& report);

}  // namespace heaplab::trace
