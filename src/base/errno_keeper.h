#pragma once

#include <cerrno>

namespace heaplab {

// Restores errno in its destructor: a malloc that succeeds in the end must not change errno.
class errno_keeper {
public:
  errno_keeper() = default;
  ~errno_keeper() { errno = saved_; }
  errno_keeper(const errno_keeper&) = delete;
  errno_keeper& operator=(const errno_keeper&) = delete;

private:
  int saved_ = errno;
};

}  // namespace heaplab
