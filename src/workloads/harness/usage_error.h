#pragma once

#include <stdexcept>

namespace heaplab::harness {

// The request of the user cannot be fulfilled: one line that names the option and its allowed values. Exit
// status 2.
class usage_error : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

// The run failed: one line that says why. Exit status 1.
class run_error : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

}  // namespace heaplab::harness
