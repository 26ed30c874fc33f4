// The sequences in the assembly of AArch64.
// Included by core_sequences.h.
#pragma once

#include <cstdint>

#include "base/compiler.h"
#include "concurrent/core_sequences.h"

namespace heaplab::concurrent {

inline constexpr bool has_sequences = true;

// Parts as in core_sequences_x86_64.h. The commit of a push is a store-release: a thread of another CPU that
// reads the new top (core_stacks::holds) sees the block below it.
#define HEAPLAB_SEQUENCE_BEGIN                                \
  ".pushsection .data.rel.ro.rseq_cs, \"aw?\", @progbits\n\t" \
  ".balign 32\n"                                              \
  "3:\n\t"                                                    \
  ".word 0, 0\n\t"                                            \
  ".xword 1f, 2f - 1f, 4f\n\t"                                \
  ".popsection\n\t"                                           \
  "adrp %[stacks], 3b\n\t"                                    \
  "add %[stacks], %[stacks], :lo12:3b\n\t"                    \
  "str %[stacks], [%[area], #8]\n"                            \
  "1:\n\t"                                                    \
  "ldrsw %[stacks], [%[area], #4]\n\t"                        \
  "add %[stacks], %[table], %[stacks], lsl #3\n\t"            \
  "ldr %[stacks], [%[stacks], %[of_cpu]]\n\t"                 \
  "add %[stacks], %[stacks], %[table]\n\t"

#define HEAPLAB_SEQUENCE_TOP                      \
  "add %[bounds], %[stacks], %[kind], lsl #3\n\t" \
  "ldrh %w[top], [%[bounds]]\n\t"

#define HEAPLAB_SEQUENCE_END                                        \
  "stlrh %w[top], [%[bounds]]\n"                                    \
  "2:\n\t"                                                          \
  ".pushsection .text.unlikely.rseq_aborts, \"ax?\", @progbits\n\t" \
  ".inst 0xd428bc00\n"                                              \
  "4:\n\t"                                                          \
  "b %l[aborted]\n\t"                                               \
  ".popsection\n"

#define HEAPLAB_SEQUENCE_INPUTS                                                                \
  [area] "r"(static_cast<char*>(__builtin_thread_pointer()) + in.area), [table] "r"(in.table), \
      [of_cpu] "i"(sequence_cpus_at)

HEAPLAB_FAST_PATH sequence_end pop_sequence(const sequence_place& in, void*& block) {
  std::uintptr_t stacks, kind = in.kind, top, bounds;
  void* popped;
  asm volatile goto(HEAPLAB_SEQUENCE_BEGIN
                    "add %[kind], %[stacks], %[kind]\n\t"
                    "ldrb %w[kind], [%[kind], %[kinds]]\n\t" HEAPLAB_SEQUENCE_TOP
                    "ldr %[block], [%[stacks], %[top], lsl #3]\n\t"
                    "cbz %[block], %l[refused]\n\t"
                    "sub %w[top], %w[top], #1\n\t" HEAPLAB_SEQUENCE_END
                    : [stacks] "=&r"(stacks), [kind] "+&r"(kind), [top] "=&r"(top), [bounds] "=&r"(bounds),
                      [block] "=&r"(popped)
                    : HEAPLAB_SEQUENCE_INPUTS, [kinds] "i"(sequence_kinds_at)
                    : "memory", "cc"
                    : refused, aborted);
  block = popped;
  HEAPLAB_SEQUENCE_RESULT
}

HEAPLAB_FAST_PATH sequence_end push_sequence(const sequence_place& in, void* block) {
  std::uintptr_t stacks, top, bounds, limit;
  asm volatile goto(HEAPLAB_SEQUENCE_BEGIN HEAPLAB_SEQUENCE_TOP
                    "ldrh %w[limit], [%[bounds], #4]\n\t"
                    "cmp %w[top], %w[limit]\n\t"
                    "b.hs %l[refused]\n\t"
                    "add %w[top], %w[top], #1\n\t"
                    "str %[block], [%[stacks], %[top], lsl #3]\n\t" HEAPLAB_SEQUENCE_END
                    : [stacks] "=&r"(stacks), [top] "=&r"(top), [bounds] "=&r"(bounds), [limit] "=&r"(limit)
                    : HEAPLAB_SEQUENCE_INPUTS, [kind] "r"(in.kind), [block] "r"(block)
                    : "memory", "cc"
                    : refused, aborted);
  HEAPLAB_SEQUENCE_RESULT
}

// Pops `count` > 0 blocks, the newest first, into an array. Refused where fewer wait.
HEAPLAB_FAST_PATH sequence_end pop_many_sequence(const sequence_place& in, void** blocks,
                                                 std::uintptr_t count) {
  std::uintptr_t stacks, top, bounds, other, index;
  asm volatile goto(HEAPLAB_SEQUENCE_BEGIN HEAPLAB_SEQUENCE_TOP
                    "ldrh %w[other], [%[bounds], #2]\n\t"
                    "add %w[other], %w[other], %w[count]\n\t"
                    "cmp %w[top], %w[other]\n\t"
                    "b.lo %l[refused]\n\t"
                    "mov %[index], #0\n"
                    "5:\n\t"
                    "ldr %[other], [%[stacks], %[top], lsl #3]\n\t"
                    "str %[other], [%[blocks], %[index], lsl #3]\n\t"
                    "sub %w[top], %w[top], #1\n\t"
                    "add %[index], %[index], #1\n\t"
                    "cmp %[index], %[count]\n\t"
                    "b.lo 5b\n\t" HEAPLAB_SEQUENCE_END
                    : [stacks] "=&r"(stacks), [top] "=&r"(top), [bounds] "=&r"(bounds), [other] "=&r"(other),
                      [index] "=&r"(index)
                    : HEAPLAB_SEQUENCE_INPUTS, [kind] "r"(in.kind), [blocks] "r"(blocks), [count] "r"(count)
                    : "memory", "cc"
                    : refused, aborted);
  HEAPLAB_SEQUENCE_RESULT
}

// Pushes `count` > 0 blocks of an array, the first one first. Refused where not all have room.
HEAPLAB_FAST_PATH sequence_end push_many_sequence(const sequence_place& in, void* const* blocks,
                                                  std::uintptr_t count) {
  std::uintptr_t stacks, top, bounds, other, index;
  asm volatile goto(HEAPLAB_SEQUENCE_BEGIN HEAPLAB_SEQUENCE_TOP
                    "ldrh %w[other], [%[bounds], #4]\n\t"
                    "add %w[index], %w[top], %w[count]\n\t"
                    "cmp %w[index], %w[other]\n\t"
                    "b.hi %l[refused]\n\t"
                    "mov %[index], #0\n"
                    "5:\n\t"
                    "ldr %[other], [%[blocks], %[index], lsl #3]\n\t"
                    "add %w[top], %w[top], #1\n\t"
                    "str %[other], [%[stacks], %[top], lsl #3]\n\t"
                    "add %[index], %[index], #1\n\t"
                    "cmp %[index], %[count]\n\t"
                    "b.lo 5b\n\t" HEAPLAB_SEQUENCE_END
                    : [stacks] "=&r"(stacks), [top] "=&r"(top), [bounds] "=&r"(bounds), [other] "=&r"(other),
                      [index] "=&r"(index)
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
