/* glibc's header of this name, for programs that must also start with a C library older than 2.32: there the
   variable is missing, the weak reference is null, and the answer is no. A reference without a version binds
   to any. */
#pragma once

extern char heaplab_libc_single_threaded __asm__("__libc_single_threaded") __attribute__((weak));

static inline char heaplab_is_single_threaded(void) {
  return &heaplab_libc_single_threaded ? heaplab_libc_single_threaded : 0;
}

#define __libc_single_threaded heaplab_is_single_threaded()
