/* For members of libstdc++.a, which know no C library without it (glibc 2.32). Atomic operations are always
 * right. */
__attribute__((visibility("hidden"))) char __libc_single_threaded = 0;
