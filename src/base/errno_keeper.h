#pragma once

#include <cerrno>

namespace heaplab {

// Leaves errno at the end of its life as it was at the beginning: a malloc must not disturb it where it
// succeeds in the end.
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
