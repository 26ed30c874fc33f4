// setrlimit and prlimit as the C library has them, but that the heap learns of a limit of address space
// (RLIMIT_AS) before it is in force: it counts the reserved arena, and so would refuse whatever is mapped
// next, such as the stack of a thread, which no malloc is asked for.
//
// What does not come by here (the system call itself, another process) is noticed when the system next
// refuses a mapping to the heap.
//
// Included by library.cpp, behind the definition of bound_heap.
#pragma once

#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/compiler.h"

namespace heaplab::shim {

static_assert(sizeof(rlim_t) == sizeof(rlim64_t) && sizeof(rlim_t) == sizeof(std::size_t));

inline int set_limit(pid_t process, unsigned resource, const void* wanted, void* before) {
  if (wanted != nullptr && resource == RLIMIT_AS && (process == 0 || process == getpid())) {
    const rlim_t bytes = static_cast<const rlimit*>(wanted)->rlim_cur;
    if (bytes != RLIM_INFINITY) bound_heap::expect_address_space_limit(bytes);
  }
  return static_cast<int>(syscall(SYS_prlimit64, process, resource, wanted, before));
}

}  // namespace heaplab::shim

extern "C" {

HEAPLAB_EXPORT int setrlimit(__rlimit_resource_t resource, const rlimit* wanted) noexcept {
  return heaplab::shim::set_limit(0, resource, wanted, nullptr);
}

HEAPLAB_EXPORT int setrlimit64(__rlimit_resource_t resource, const rlimit64* wanted) noexcept {
  return heaplab::shim::set_limit(0, resource, wanted, nullptr);
}

HEAPLAB_EXPORT int prlimit(pid_t process, __rlimit_resource resource, const rlimit* wanted,
                           rlimit* before) noexcept {
  return heaplab::shim::set_limit(process, resource, wanted, before);
}

HEAPLAB_EXPORT int prlimit64(pid_t process, __rlimit_resource resource, const rlimit64* wanted,
                             rlimit64* before) noexcept {
  return heaplab::shim::set_limit(process, resource, wanted, before);
}

}  // extern "C"
