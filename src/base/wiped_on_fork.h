#pragma once

#include "base/os_pages.h"

namespace heaplab {

// A static object that is zero in every child with memory of its own, however the child was made: fork runs
// the handlers of pthread_atfork in the child, _Fork and clone run none (MADV_WIPEONFORK, Linux 4.14). A
// child of vfork shares the object with its parent. An object of zeros is a valid T.
template <class T>
class alignas(os_pages::largest_page_bytes) wiped_on_fork {
  static_assert(sizeof(T) <= os_pages::smallest_page_bytes);

public:
  // Once in a process, and in its children no more. False: the system refuses, and a child has what the
  // parent had.
  bool begin() { return os_pages::wipe_on_fork(this, os_pages::page_bytes()); }

  T* operator->() { return &value_; }

private:
  T value_{};
};

}  // namespace heaplab
