#pragma once

#include <stdexcept>
#include <string>

namespace heaplab::trace {

// A file that cannot be used, or not be written: one line that names it.
class trace_error : public std::runtime_error {
public:
  trace_error(const std::string& file, const std::string& what) : std::runtime_error(file + ": " + what) {}
};

}  // namespace heaplab::trace
