#pragma once

#include <stdexcept>

namespace heaplab::recorded {

// A workload file that cannot be written, or that is none: one line that names the file and what is wrong.
class file_error : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

}  // namespace heaplab::recorded
