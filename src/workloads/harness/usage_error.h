#pragma once

#include <stdexcept>

namespace heaplab::harness {

// What the user asked for cannot be done: one line that names the option and what it may be. Exit status 2.
class usage_error : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

// The run went wrong: one line that says what. Exit status 1.
class run_error : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

}  // namespace heaplab::harness
