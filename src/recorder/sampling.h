// Calls while a recording samples blocks (poisson_sampling.h): of most calls, some ten instructions, after
// which the function jumps to that of the allocator (passes, is_no_sample).
//
// A sample is counted at its site, and remembered in live_blocks while it lives. All amounts lie in the file
// of the process, where the recording looks at them whenever it wants: the process itself writes no
// snapshots, has no timer and hears no signal. Blocks that were acquired before the recording began are no
// samples, so that a release of them is nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "base/atomic.h"
#include "base/compiler.h"
#include "recorder/sample_filter.h"
#include "recorder/stack_bounds.h"
#include "recorder/stacks.h"
#include "recorder/thread_state.h"
#include "recorder/watched_pages.h"

namespace heaplab::recorder {

// The part of a thread's state that sampling needs. A child of fork goes on with it: what is left of an
// exponential distance is as long as a new one.
struct sampled_thread {
  // Bytes that the thread may acquire before its next point, each block with one more. 0: a call has to look
  // closer, because the thread has no point yet, or is in a call that looks closer (sampled_call).
  std::uint64_t left = 0;
  // While pages are watched, `left` is 0 so that every call looks closer, and this is what is left.
  std::uint64_t kept_back = 0;
  std::uint32_t distances = 0;  // those of which recording: see distances_drawn
  stack_bounds bounds;
};

inline constinit thread_local sampled_thread this_sampled_thread{};

// Number of the recording that threads draw distances for. relaxed: no call is sampled while it changes.
inline constinit atomic<std::uint32_t> distances_drawn = 0;

[[gnu::visibility("hidden")]] extern constinit sample_filter sampled_addresses;
[[gnu::visibility("hidden")]] extern constinit watched_pages pages_watched;

// Whether the filter alone may tell that a release is nothing. Never, once the early arena has a block: its
// blocks are not for the allocator's free. relaxed: a thread that has such a block sees what was stored
// before it was given.
enum class shortcut : std::uint8_t { closed, open, never };
inline constinit atomic<shortcut> past_release = shortcut::closed;

// A call reads this once, and that alone tells whether its block is a sample. A signal handler may acquire
// blocks at any instruction: a second look would find the point taken. relaxed: the thread's own.
HEAPLAB_FAST_PATH std::uint64_t bytes_left() {
  return atomic_ref(this_sampled_thread.left).load(std::memory_order_relaxed);
}

// Whether a call that acquires a block needs no closer look. It is counted down then, also if it fails.
HEAPLAB_FAST_PATH bool passes(std::size_t size, std::uint64_t left) {
  if (left <= size) [[unlikely]]
    return false;
  atomic_ref(this_sampled_thread.left).store(left - size - 1, std::memory_order_relaxed);
  return true;
}

// Whether a release of the block needs no closer look.
HEAPLAB_FAST_PATH bool is_no_sample(const void* block) {
  if (past_release.load(std::memory_order_relaxed) != shortcut::open) [[unlikely]]
    return false;
  return !sampled_addresses.may_hold(reinterpret_cast<std::uint64_t>(block));
}

// To be called before the first call of a recording is sampled. False: the system refuses.
bool prepare_sampling(const trace::raw_control& wanted);

// The distance to the thread's first point in a recording.
HEAPLAB_SLOW_PATH std::uint64_t first_distance(thread_state& state);

// A point lies in this block. It has an address, kind and size, and tells of watched pages; its site is not
// known yet. Returns the distance to the next point.
HEAPLAB_SLOW_PATH std::uint64_t sample(thread_state& state, const trace::raw_live_block& block,
                                       const call_site& site);

// No point lies in this block, and a watched page does.
HEAPLAB_SLOW_PATH void note_on_page(thread_state& state, const trace::raw_live_block& block,
                                    const call_site& site);

// A call that looks closer. What it calls itself is no call of the program, and not counted.
class sampled_call {
public:
  sampled_call(thread_state& state, std::uint64_t left)
      : state_(state),
        call_(state, activity::call),
        left_(left + std::exchange(this_sampled_thread.kept_back, 0)) {
    this_sampled_thread.left = 0;
    if (this_sampled_thread.distances != distances_drawn.load(std::memory_order_relaxed)) [[unlikely]]
      left_ = first_distance(state);
  }
  ~sampled_call() {
    if (pages_watched.any())
      this_sampled_thread.kept_back = left_;
    else
      this_sampled_thread.left = left_;
  }
  sampled_call(const sampled_call&) = delete;
  sampled_call& operator=(const sampled_call&) = delete;

  HEAPLAB_FAST_PATH void acquired(trace::raw_live_block block, const call_site& site) {
    const std::uint64_t address = trace::address_in(block.what);
    if (address == 0) [[unlikely]]
      return;
    if (pages_watched.any()) block.site = pages_watched.ends_of(address, block.size);
    if (left_ <= block.size) {
      left_ = sample(state_, block, site);
      return;
    }
    left_ -= block.size + 1;
    if (block.site != 0) [[unlikely]]
      note_on_page(state_, block, site);
  }

private:
  thread_state& state_;
  doing call_;
  std::uint64_t left_;
};

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
