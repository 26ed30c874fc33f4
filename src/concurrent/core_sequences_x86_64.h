// The sequences in the assembly of x86-64, where the thread pointer is the base of segment fs.
// Included by core_sequences.h.
#pragma once

#include <cstdint>

#include "base/compiler.h"
#include "concurrent/core_sequences.h"

namespace heaplab::concurrent {

inline constexpr bool has_sequences = true;

// The descriptor: version and flags, first instruction, length, abort handler. Both it and the handler go
// into the section group of the function, so that the linker drops them together. The signature before the
// handler, in an instruction that is never run, is the one that glibc has registered.
#define HEAPLAB_SEQUENCE_BEGIN                                \
  ".pushsection .data.rel.ro.rseq_cs, \"aw?\", @progbits\n\t" \
  ".balign 32\n"                                              \
  "3:\n\t"                                                    \
  ".long 0, 0\n\t"                                            \
  ".quad 1f, 2f - 1f, 4f\n\t"                                 \
  ".popsection\n\t"                                           \
  "leaq 3b(%%rip), %[stacks]\n\t"                             \
  "movq %[stacks], %%fs:8(%[area])\n"                         \
  "1:\n\t"                                                    \
  "movslq %%fs:4(%[area]), %[stacks]\n\t"                     \
  "movq %c[of_cpu](%[table], %[stacks], 8), %[stacks]\n\t"    \
  "addq %[table], %[stacks]\n\t"

#define HEAPLAB_SEQUENCE_TOP "movzwl (%[stacks], %[kind], 8), %k[top]\n\t"

#define HEAPLAB_SEQUENCE_END(COMMIT)                                \
  COMMIT                                                            \
  " (%[stacks], %[kind], 8)\n"                                      \
  "2:\n\t"                                                          \
  ".pushsection .text.unlikely.rseq_aborts, \"ax?\", @progbits\n\t" \
  ".byte 0x0f, 0xb9, 0x3d\n\t"                                      \
  ".long 0x53053053\n"                                              \
  "4:\n\t"                                                          \
  "jmp %l[aborted]\n\t"                                             \
  ".popsection\n"

#define HEAPLAB_SEQUENCE_INPUTS [area] "r"(in.area), [table] "r"(in.table), [of_cpu] "i"(sequence_cpus_at)

HEAPLAB_FAST_PATH sequence_end pop_sequence(const sequence_place& in, void*& block) {
  std::uintptr_t stacks, kind = in.kind, top;
  void* popped;
  asm volatile goto(HEAPLAB_SEQUENCE_BEGIN
                    "movzbl %c[kinds](%[stacks], %[kind]), %k[kind]\n\t" HEAPLAB_SEQUENCE_TOP
                    "movq (%[stacks], %[top], 8), %[block]\n\t"
                    "testq %[block], %[block]\n\t"
                    "jz %l[refused]\n\t" HEAPLAB_SEQUENCE_END("decw")
                    : [stacks] "=&r"(stacks), [kind] "+&r"(kind), [top] "=&r"(top), [block] "=&a"(popped)
                    : HEAPLAB_SEQUENCE_INPUTS, [kinds] "i"(sequence_kinds_at)
                    : "memory", "cc"
                    : refused, aborted);
  block = popped;
  HEAPLAB_SEQUENCE_RESULT
}

HEAPLAB_FAST_PATH sequence_end push_sequence(const sequence_place& in, void* block) {
  std::uintptr_t stacks, top;
  asm volatile goto(HEAPLAB_SEQUENCE_BEGIN HEAPLAB_SEQUENCE_TOP
                    "cmpw 4(%[stacks], %[kind], 8), %w[top]\n\t"
                    "jae %l[refused]\n\t"
                    "movq %[block], 8(%[stacks], %[top], 8)\n\t" HEAPLAB_SEQUENCE_END("incw")
                    : [stacks] "=&r"(stacks), [top] "=&r"(top)
                    : HEAPLAB_SEQUENCE_INPUTS, [kind] "r"(in.kind), [block] "r"(block)
                    : "memory", "cc"
                    : refused, aborted);
  HEAPLAB_SEQUENCE_RESULT
}

// Pops `count` > 0 blocks, the newest first, into an array. Refused where fewer wait.
HEAPLAB_FAST_PATH sequence_end pop_many_sequence(const sequence_place& in, void** blocks,
                                                 std::uintptr_t count) {
  std::uintptr_t stacks, top, other, index;
  asm volatile goto(HEAPLAB_SEQUENCE_BEGIN HEAPLAB_SEQUENCE_TOP
                    "movzwl 2(%[stacks], %[kind], 8), %k[other]\n\t"
                    "addl %k[count], %k[other]\n\t"
                    "cmpl %k[other], %k[top]\n\t"
                    "jb %l[refused]\n\t"
                    "xorl %k[index], %k[index]\n"
                    "5:\n\t"
                    "movq (%[stacks], %[top], 8), %[other]\n\t"
                    "movq %[other], (%[blocks], %[index], 8)\n\t"
                    "decl %k[top]\n\t"
                    "incl %k[index]\n\t"
                    "cmpl %k[count], %k[index]\n\t"
                    "jb 5b\n\t" HEAPLAB_SEQUENCE_END("movw %w[top],")
                    : [stacks] "=&r"(stacks), [top] "=&r"(top), [other] "=&r"(other), [index] "=&r"(index)
                    : HEAPLAB_SEQUENCE_INPUTS, [kind] "r"(in.kind), [blocks] "r"(blocks), [count] "r"(count)
                    : "memory", "cc"
                    : refused, aborted);
  HEAPLAB_SEQUENCE_RESULT
}

// Pushes `count` > 0 blocks of an array, the first one first. Refused where not all have room.
HEAPLAB_FAST_PATH sequence_end push_many_sequence(const sequence_place& in, void* const* blocks,
                                                  std::uintptr_t count) {
  std::uintptr_t stacks, top, other, index;
  asm volatile goto(HEAPLAB_SEQUENCE_BEGIN HEAPLAB_SEQUENCE_TOP
                    "leal (%[top], %[count]), %k[other]\n\t"
                    "cmpw %w[other], 4(%[stacks], %[kind], 8)\n\t"
                    "jb %l[refused]\n\t"
                    "xorl %k[index], %k[index]\n"
                    "5:\n\t"
                    "movq (%[blocks], %[index], 8), %[other]\n\t"
                    "incl %k[top]\n\t"
                    "movq %[other], (%[stacks], %[top], 8)\n\t"
                    "incl %k[index]\n\t"
                    "cmpl %k[count], %k[index]\n\t"
                    "jb 5b\n\t" HEAPLAB_SEQUENCE_END("movw %w[top],")
                    : [stacks] "=&r"(stacks), [top] "=&r"(top), [other] "=&r"(other), [index] "=&r"(index)
                    : HEAPLAB_SEQUENCE_INPUTS, [kind] "r"(in.kind), [blocks] "r"(blocks), [count] "r"(count)
                    : "memory", "cc"
                    : refused, aborted);
  HEAPLAB_SEQUENCE_RESULT
}

#undef HEAPLAB_SEQUENCE_BEGIN
#undef HEAPLAB_SEQUENCE_TOP
#undef HEAPLAB_SEQUENCE_END
#undef HEAPLAB_SEQUENCE_INPUTS

}  // namespace heaplab::concurrent
