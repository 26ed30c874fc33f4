// Call stacks by frame pointers. A program without them gets shorter or wrong stacks, but never a fault: only
// words of the thread's own stack between the current frame and its top are read.
//
// Each thread has a cache. Its key is the caller and the caller's frame; what it found there, each frame
// pointer and return address, is compared with the stack before it is used. If all are equal, a walk would
// read the same words and come to the same stack.
#pragma once

#include <cstdint>

#include "base/compiler.h"
#include "recorder/thread_state.h"

namespace heaplab::recorder {

// Of a call of an allocation function.
struct call_site {
  std::uint64_t caller;        // the address to which the call returns
  const std::uint64_t* frame;  // of the allocation function: the caller's frame pointer, the return address
};

inline constinit bool stacks_wanted = false;  // set once, before the first call is recorded

// Precondition for stacks: called once, before the first call is recorded. False: the system refuses.
bool prepare_stacks();

// The place of the stack in the file of the process (raw_file.h), or the caller if there is no stack.
HEAPLAB_SLOW_PATH std::uint64_t stack_of(thread_state& state, const call_site& site);

HEAPLAB_FAST_PATH std::uint64_t number_of_site(thread_state& state, const call_site& site) {
  return stacks_wanted ? stack_of(state, site) : site.caller;
}

// At the end of a thread.
void drop_stacks(thread_state& state);

}  // namespace heaplab::recorder
