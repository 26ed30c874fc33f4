#pragma once

#include <stdexcept>

namespace heaplab::recorded {

// A workload file cannot be written, or a file is no workload file: one line that names the file and the
// fault.
class file_error : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

}  // namespace heaplab::recorded
