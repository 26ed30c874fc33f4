// sched_setaffinity as in the C library, except that the heap learns of it first: the background purge thread
// runs on the processors that the program began with (idle/idle_purge.h), also where the program gives its
// first thread a processor of its own.
//
// Not noticed: pthread_setaffinity_np and the bare system call.
//
// Included by library.cpp, behind the definition of bound_heap.
#pragma once

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstddef>

#include "base/compiler.h"
#include "base/narrow.h"

extern "C" HEAPLAB_EXPORT int sched_setaffinity(pid_t thread, std::size_t bytes,
                                                const cpu_set_t* processors) noexcept {
  heaplab::shim::bound_heap::expect_other_processors();
  return heaplab::narrow<int>(syscall(SYS_sched_setaffinity, thread, bytes, processors));
}
