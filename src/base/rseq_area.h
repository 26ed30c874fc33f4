// Restartable sequences (rseq, Linux 4.18): instructions that the kernel does not let be interrupted halfway.
// A thread names the sequence that it is about to run in an area that the kernel knows. Where the thread is
// then preempted, migrated or given a signal before the last instruction of the sequence, the kernel lets it
// go on at the sequence's abort handler instead.
//
// The C library registers one area for each thread (glibc 2.35), which all code of the thread shares. There
// is none under an older C library or kernel, under an emulator, valgrind and the tunable
// glibc.pthread.rseq=0.
#pragma once

#include <cstddef>

extern "C" {
// Weak: absent from older C libraries.
[[gnu::weak]] extern const std::ptrdiff_t __rseq_offset;
[[gnu::weak]] extern const unsigned int __rseq_size;
}

namespace heaplab::rseq_area {

// Fields, in bytes from the beginning: the number of the CPU on which the thread runs, which is above every
// possible number while the area is not registered; the descriptor of the present sequence.
inline constexpr std::size_t cpu_id_at = 4, sequence_at = 8;

// From the thread pointer to the area of any thread, in bytes; 0: there is none. No area begins at the thread
// pointer itself, which belongs to the C library.
inline std::ptrdiff_t distance() {
  return &__rseq_size != nullptr && __rseq_size != 0 ? __rseq_offset : 0;
}

}  // namespace heaplab::rseq_area
