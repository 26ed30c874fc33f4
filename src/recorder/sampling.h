// Calls while a recording samples blocks (poisson_sampling.h): of most calls, some ten instructions.
//
// A sample is counted at its site, and remembered in live_blocks while it lives. All amounts lie in the file
// of the process, where the recording looks at them whenever it wants: the process itself writes no
// snapshots, has no timer and hears no signal. Blocks that were acquired before the recording began are no
// samples, so that a release of them is nothing.
#pragma once

#include <cstdint>
#include <optional>

#include "base/compiler.h"
#include "recorder/sample_filter.h"
#include "recorder/stack_bounds.h"
#include "recorder/stacks.h"
#include "recorder/thread_state.h"

namespace heaplab::recorder {

// The part of a thread's state that sampling needs. Belongs to the process of thread_state::epoch.
struct sampled_thread {
  std::int64_t until_sample = 0;  // bytes; below 0: a point lies in the last block
  stack_bounds bounds;
};

inline constinit thread_local sampled_thread this_sampled_thread{};

extern constinit sample_filter sampled_addresses;

// To be called once, before the first call is sampled. False: the system refuses.
bool prepare_sampling();

// A point lies in this block, or the thread does not know yet where its next point lies. The block has an
// address, kind and size; its site is not known yet.
HEAPLAB_SLOW_PATH void sample(thread_state& state, const trace::raw_live_block& block, const call_site& site);

// The block at the address is released: if it is a sample, its life ends.
HEAPLAB_SLOW_PATH void end_sample(thread_state& state, std::uint64_t address);

// Forgets the sample at the address, if there is one.
HEAPLAB_SLOW_PATH std::optional<trace::raw_live_block> forget_sample(thread_state& state,
                                                                     std::uint64_t address);

// A sample that was forgotten lives on, or its life has ended.
HEAPLAB_SLOW_PATH void remember_sample(thread_state& state, const trace::raw_live_block& sample);
HEAPLAB_SLOW_PATH void end_life(const trace::raw_live_block& sample);

// Before the program forbids system calls: room for some thousand sites, and live samples.
void reserve_sample_tables();

// In a child of fork.
void forget_sites();

}  // namespace heaplab::recorder
