// Call stacks: by the unwind information of the program's files (loaded_code.h), which on x86-64 nearly all
// code has, and by frame pointers where there is none. Code that has neither ends a stack, or makes it wrong,
// but never causes a fault: only words of the thread's own stack between the present frame and its top are
// read.
//
// Each thread has a cache. Its key is the caller and the caller's stack pointer; an entry holds the words
// that a walk read from the stack, which are compared with the stack before the entry is used. If all are
// equal, a walk would come to the same stack.
#pragma once

#include <cstdint>

#include "base/compiler.h"
#include "recorder/stack_bounds.h"
#include "recorder/thread_state.h"
#include "trace/raw/raw_file.h"

namespace heaplab::recorder {

// The place of a call of an allocation function.
struct call_site {
  std::uint64_t caller;        // the address to which the call returns
  const std::uint64_t* frame;  // of the allocation function: the caller's frame pointer, the return address
};

inline constinit bool stacks_wanted = false;  // set once, before the first call is recorded

// Precondition for stacks: called once, before the first call is recorded. False: the system refuses.
bool prepare_stacks();

// The place of the stack in the file of the process (raw_file.h), or the caller if there is no stack.
HEAPLAB_OUT_OF_LINE std::uint64_t stack_of(thread_state& state, const call_site& site);

HEAPLAB_FAST_PATH std::uint64_t number_of_site(thread_state& state, const call_site& site) {
  return stacks_wanted ? stack_of(state, site) : site.caller;
}

// The code addresses of the stack, the innermost first, by a walk without the cache; their number. The bounds
// are those of the calling thread.
HEAPLAB_OUT_OF_LINE std::size_t walk_stack(stack_bounds& bounds, const call_site& site,
                                           std::uint64_t (&addresses)[trace::most_frames]);

// At the end of a thread.
void drop_stacks(thread_state& state);

}  // namespace heaplab::recorder
