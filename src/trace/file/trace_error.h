#pragma once

#include <stdexcept>
#include <string>

namespace heaplab::trace {

// A file cannot be read or written: one line that names the file and the fault.
class trace_error : public std::runtime_error {
public:
  trace_error(const std::string& file, const std::string& what) : std::runtime_error(file + ": " + what) {}
};

}  // namespace heaplab::trace
