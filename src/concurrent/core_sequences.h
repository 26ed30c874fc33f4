// The restartable sequences of core_stacks.h, in the assembly of each architecture: a block is popped or
// pushed, or several at once.
//
// What all do, with the argument why no block is lost or handed out twice:
//
//   arm      the thread's area names this sequence
//   cpu      the number of the CPU; from here to the end of the sequence the thread runs on it, and no other
//            thread runs there, or the kernel goes to the abort handler
//   stacks   of this CPU; bounds that are empty and full where there are none, or the CPU is unknown
//   kind     pop: read from the stacks, because the size of a request leads to another kind on each CPU
//   check    pop: as many wait; push: as many have room
//   blocks   pop: read from the stack; push: written above the top, where nobody looks yet
//   commit   one store: the new top
//
// The kernel aborts up to the commit and not after it. An aborted sequence has changed nothing that counts: a
// push may have written above the top. A committed one has changed the top that it read, because whoever
// else changes the top either runs on the same CPU, and so interrupts this thread, or has stopped the stacks
// and waited for a barrier that aborts every sequence under way (core_stacks::stop).
//
// An aborted sequence is not tried again here: the caller takes the way with a lock. A debugger that stops a
// thread after each instruction would abort each attempt.
#pragma once

#include <cstddef>
#include <cstdint>

namespace heaplab::concurrent {

enum class sequence_end : std::uint8_t {
  committed,
  refused,  // the stack was empty or full, or the CPU has none
  aborted
};

// The stack of one kind of blocks, in words of 8 bytes from the beginning of its CPU's stacks. The sequences
// know the places of `top`, `bottom` and `limit`. The word at the bottom is null for ever: so a pop finds an
// empty stack by the block that it reads.
struct stack_bounds {
  std::uint16_t top;     // the newest block; the bottom: there is none. The sequences write it.
  std::uint16_t bottom;  // before the oldest block. Constant.
  std::uint16_t limit;   // the stack is full when the top reaches it
  std::uint16_t end;     // the most that the limit may be. Constant.
};
static_assert(sizeof(stack_bounds) == 8);

// With which the stacks of a CPU begin.
struct stacks_head {
  static constexpr unsigned most_kinds = 128, most_steps = 2056;

  stack_bounds bounds[most_kinds];
  // From the size of a request, in steps, to its kind.
  std::uint8_t kind_of_step[most_steps];
};
inline constexpr std::size_t sequence_kinds_at = offsetof(stacks_head, kind_of_step);

// Where the stacks of each CPU begin, in bytes from the beginning of the table. The table begins with zeros:
// the bounds of stacks that are empty to a pop and full to a push. An entry of 0 names these, so that a
// sequence of a CPU without stacks fails as on any empty or full stack, without a test of its own. Word is an
// integer of 8 bytes.
template <class Word, unsigned Cpus>
struct sequence_table {
  // The entry of a CPU whose stacks are stopped: zeros as well.
  static constexpr std::ptrdiff_t stopped = sizeof(stack_bounds);

  stacks_head none = {};
  stack_bounds behind_none = {};
  // The kernel's numbers -2 and -1, of a thread whose area is not registered.
  Word of_unregistered[2] = {};
  Word of_cpu[Cpus] = {};
};
// As many as Linux can have.
inline constexpr unsigned sequence_cpus = 8192;
using plain_sequence_table = sequence_table<std::ptrdiff_t, sequence_cpus>;
inline constexpr std::size_t sequence_cpus_at = offsetof(plain_sequence_table, of_cpu);

// What the sequences work on.
struct sequence_place {
  std::ptrdiff_t area;  // rseq_area::distance() (base/rseq_area.h), not 0
  const void* table;    // a sequence_table
  std::uintptr_t kind;  // of pop_sequence: the step of a request
};

}  // namespace heaplab::concurrent

// The end of each sequence. Without an empty statement behind a label, GCC 12 at -O1 merges the label with
// the code that follows, and loses the constant that a variable of the caller has on that way: a pop that was
// refused returned the block of the pop before.
#define HEAPLAB_SEQUENCE_RESULT   \
  return sequence_end::committed; \
  refused:                        \
  asm volatile("");               \
  return sequence_end::refused;   \
  aborted:                        \
  asm volatile("");               \
  return sequence_end::aborted;

// The thread sanitizer would not see what the sequences do.
#if defined(__x86_64__) && defined(__LP64__) && !defined(__SANITIZE_THREAD__)
#include "concurrent/core_sequences_x86_64.h"
#elif defined(__aarch64__) && defined(__AARCH64EL__) && !defined(__SANITIZE_THREAD__)
#include "concurrent/core_sequences_aarch64.h"
#else

namespace heaplab::concurrent {

inline constexpr bool has_sequences = false;

inline sequence_end pop_sequence(const sequence_place&, void*&) {
  return sequence_end::refused;
}
inline sequence_end push_sequence(const sequence_place&, void*) {
  return sequence_end::refused;
}
inline sequence_end pop_many_sequence(const sequence_place&, void**, std::uintptr_t) {
  return sequence_end::refused;
}
inline sequence_end push_many_sequence(const sequence_place&, void* const*, std::uintptr_t) {
  return sequence_end::refused;
}

}  // namespace heaplab::concurrent

#endif

#undef HEAPLAB_SEQUENCE_RESULT
