// setrlimit and prlimit as in the C library, except that the heap learns of a limit of address space
// (RLIMIT_AS) before the limit is in force. The limit counts the reserved arena: without a smaller arena the
// system would refuse the next mapping, be it the stack of a thread, for which malloc is not called.
//
// The heap notices a limit that is set otherwise (by the bare system call, by another process) when the
// system refuses the heap a mapping.
//
// So for sched_setaffinity: the background purge thread runs on the processors that the program began with
// (idle/idle_purge.h), also where the program gives its first thread a processor of its own. Not noticed:
// pthread_setaffinity_np and the bare system call.
//
// Included by library.cpp, behind the definition of bound_heap.
#pragma once

#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstddef>

#include "base/compiler.h"
#include "base/narrow.h"

namespace heaplab::shim {

static_assert(sizeof(rlim_t) == sizeof(rlim64_t) && sizeof(rlim_t) == sizeof(std::size_t));

inline int set_limit(pid_t process, unsigned resource, const void* wanted, void* before) {
  if (wanted != nullptr && resource == RLIMIT_AS && (process == 0 || process == getpid())) {
    const rlim_t bytes = static_cast<const rlimit*>(wanted)->rlim_cur;
    if (bytes != RLIM_INFINITY) bound_heap::expect_address_space_limit(bytes);
  }
  return heaplab::narrow<int>(syscall(SYS_prlimit64, process, resource, wanted, before));
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

HEAPLAB_EXPORT int sched_setaffinity(pid_t thread, std::size_t bytes, const cpu_set_t* processors) noexcept {
  heaplab::shim::bound_heap::expect_other_processors();
  return heaplab::narrow<int>(syscall(SYS_sched_setaffinity, thread, bytes, processors));
}

}  // extern "C"
