// The fast path of every call: passes the call on and writes a record. No lock, no system call, some thirty
// instructions.
//
// The functions below are inlined, so that HEAPLAB_SITE in an allocation function yields its caller.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/assertion.h"
#include "base/bits.h"
#include "base/compiler.h"
#include "recorder/process_file.h"
#include "recorder/sampling.h"
#include "recorder/stacks.h"
#include "recorder/stamp.h"
#include "recorder/thread_state.h"
#include "recorder/waiting.h"

namespace heaplab::recorder {

#define HEAPLAB_SITE                                                  \
  heaplab::recorder::call_site {                                      \
    reinterpret_cast<std::uint64_t>(__builtin_return_address(0)),     \
        static_cast<const std::uint64_t*>(__builtin_frame_address(0)) \
  }

// The caller of a release: where a release was called from is recorded, but no stack.
#define HEAPLAB_CALLER reinterpret_cast<std::uint64_t>(__builtin_return_address(0))

inline std::uint64_t number_of(const void* block) {
  return reinterpret_cast<std::uint64_t>(block);
}

// Precondition: `alignment` is a power of two, or 0.
inline std::uint8_t log2_of(std::size_t alignment) {
  HEAPLAB_ASSERT(alignment == 0 || is_power_of_two(alignment));
  return alignment == 0 ? std::uint8_t{0} : static_cast<std::uint8_t>(log2_floor(alignment));
}

// Slow path of acquire and release: whether the call is to be recorded after all, because it is the first of
// the process.
HEAPLAB_SLOW_PATH inline bool record_nevertheless(const thread_state& state) {
  if (recording_state() == not_begun && state.doing == activity::none) begin();
  if (recording_state() != trace::recording::on) return false;
  if (state.doing == activity::call) count_lost(state, trace::loss::nested);
  return state.doing == activity::none;
}

// `seen` is the recording's state.
HEAPLAB_FAST_PATH bool record_here(const thread_state& state, trace::recording seen) {
  if (seen == trace::recording::on && state.doing == activity::none) [[likely]]
    return true;
  return record_nevertheless(state);
}

inline trace::raw_live_block block_of(trace::kind kind, const void* block, std::size_t size,
                                      std::uint64_t site, std::uint8_t alignment_log2 = 0) {
  return {trace::pack(number_of(block), kind, alignment_log2), size, site};
}

// Whether this call is to be sampled: not if it is made within another, such as the malloc in a calloc.
HEAPLAB_FAST_PATH bool sample_here(const thread_state& state, trace::recording seen) {
  return seen == trace::recording::sampling && state.doing == activity::none;
}

template <class Call>
HEAPLAB_FAST_PATH void* acquire_sampled(thread_state& state, trace::kind kind, std::size_t size,
                                        const call_site& site, Call call, std::uint64_t left) {
  sampled_call a_call(state, left);
  void* const block = call();
  a_call.acquired(block_of(kind, block, size, 0), site);
  return block;
}

// Records or remembers a block, as the state is after the call (live_table.h).
HEAPLAB_SLOW_PATH inline void note_acquired(thread_state& state, const trace::raw_live_block& block) {
  const trace::recording now = recording_state();
  if (now == trace::recording::waiting && trace::address_in(block.what) != 0) remember(state, block);
  if (now != trace::recording::on) return;
  const std::uint64_t stamp = stamp_after();
  fill(claim(state), stamp, block);
}

// The window may have opened since the caller looked at the state: only the state after the call decides.
template <class Call>
HEAPLAB_SLOW_PATH void* acquire_unrecorded(thread_state& state, trace::kind kind, std::size_t size,
                                           std::uint8_t alignment_log2, const call_site& site, Call call) {
  if (state.doing != activity::none) return call();
  if (sample_here(state, recording_state()))  // the first call of the process
    return acquire_sampled(state, kind, size, site, call, bytes_left());
  const doing a_call(state, activity::call);
  void* const block = call();
  note_acquired(state, block_of(kind, block, size, site.caller, alignment_log2));
  return block;
}

template <class Call>
HEAPLAB_FAST_PATH void* acquire(trace::kind kind, std::size_t size, std::uint8_t alignment_log2,
                                const call_site& site, Call call, std::uint64_t left = bytes_left()) {
  thread_state& state = this_thread;
  const trace::recording seen = recording_state();
  if (sample_here(state, seen)) return acquire_sampled(state, kind, size, site, call, left);
  if (!record_here(state, seen)) [[unlikely]]
    return acquire_unrecorded(state, kind, size, alignment_log2, site, call);
  const doing a_call(state, activity::call);
  void* const block = call();
  const std::uint64_t stamp = stamp_after();
  const std::uint64_t number = number_of_site(state, site);
  fill(claim(state), stamp, block_of(kind, block, size, number, alignment_log2));
  return block;
}

template <class Call>
HEAPLAB_FAST_PATH void record_release(thread_state& state, trace::kind kind, void* block, std::size_t size,
                                      std::size_t alignment, std::uint64_t caller, Call call) {
  const doing a_call(state, activity::call);
  trace::raw_record* const record = claim(state);
  fill(record, stamp_before(), block_of(kind, block, size, caller, log2_of(alignment)));
  call();
}

// The window may open between two looks at the state: what is not remembered any more is then recorded.
template <class Call>
HEAPLAB_SLOW_PATH void release_unrecorded(thread_state& state, trace::kind kind, void* block,
                                          std::size_t size, std::size_t alignment, std::uint64_t caller,
                                          Call call) {
  if (block == nullptr || state.doing == activity::own) return call();
  const trace::recording now = recording_state();
  if (now == trace::recording::on && state.doing == activity::none)
    return record_release(state, kind, block, size, alignment, caller, call);
  if (now == trace::recording::waiting) forget(state, number_of(block));
  call();
}

// A release within another call may end a sample too: the outer call knows the block by another address.
template <class Call>
HEAPLAB_FAST_PATH void release_sampled(thread_state& state, void* block, Call call) {
  if (sampled_addresses.may_hold(number_of(block))) [[unlikely]]
    end_sample(state, number_of(block));
  call();
}

template <class Call>
HEAPLAB_OUT_OF_LINE void release_unsampled(trace::kind kind, void* block, std::size_t size,
                                           std::size_t alignment, std::uint64_t caller, Call call) {
  thread_state& state = this_thread;
  if (block == nullptr || !record_here(state, recording_state())) [[unlikely]]
    return release_unrecorded(state, kind, block, size, alignment, caller, call);
  record_release(state, kind, block, size, alignment, caller, call);
}

// Out of line is what would make a release that is sampled save registers.
template <class Call>
HEAPLAB_FAST_PATH void release(trace::kind kind, void* block, std::size_t size, std::size_t alignment,
                               std::uint64_t caller, Call call) {
  if (recording_state() == trace::recording::sampling) return release_sampled(this_thread, block, call);
  release_unsampled(kind, block, size, alignment, caller, call);
}

template <class Call>
HEAPLAB_FAST_PATH void* record_reallocation(thread_state& state, trace::kind from, trace::kind to,
                                            void* block, std::size_t size, const call_site& site, Call call) {
  const doing a_call(state, activity::call);
  trace::raw_record* const record = claim(state);
  fill(record, stamp_before(), block_of(from, block, 0, site.caller));
  void* const moved = call();
  const std::uint64_t stamp = stamp_after();
  const std::uint64_t number = number_of_site(state, site);
  fill(claim(state), stamp, block_of(to, moved, size, number));
  return moved;
}

template <class Call>
HEAPLAB_SLOW_PATH void* reallocate_unrecorded(thread_state& state, trace::kind from, trace::kind to,
                                              void* block, std::size_t size, const call_site& site,
                                              Call call) {
  if (state.doing != activity::none) return call();
  const trace::recording now = recording_state();
  if (now == trace::recording::on) return record_reallocation(state, from, to, block, size, site, call);
  if (now != trace::recording::waiting) return call();
  const doing a_call(state, activity::call);
  const auto before = forget(state, number_of(block));
  void* const moved = call();
  if (moved != nullptr)
    note_acquired(state, block_of(to, moved, size, site.caller));
  else if (size != 0 && before)
    remember(state, *before);  // the call failed: the block lives on, and lived before the window
  return moved;
}

template <class Call>
HEAPLAB_FAST_PATH void* reallocate_sampled(thread_state& state, trace::kind to, void* block, std::size_t size,
                                           const call_site& site, Call call, std::uint64_t left) {
  sampled_call a_call(state, left);
  std::optional<trace::raw_live_block> before;
  if (sampled_addresses.may_hold(number_of(block))) [[unlikely]]
    before = forget_sample(state, number_of(block));
  void* const moved = call();
  if (before) [[unlikely]] {
    if (moved == nullptr && size != 0)
      remember_sample(state, *before);  // the call failed: the block lives on
    else
      end_life(*before);
  }
  a_call.acquired(block_of(to, moved, size, 0), site);
  return moved;
}

// Precondition: `block` is not null.
template <class Call>
HEAPLAB_FAST_PATH void* reallocate(trace::kind from, trace::kind to, void* block, std::size_t size,
                                   const call_site& site, Call call, std::uint64_t left = bytes_left()) {
  HEAPLAB_ASSERT(block != nullptr);
  thread_state& state = this_thread;
  const trace::recording seen = recording_state();
  if (sample_here(state, seen)) return reallocate_sampled(state, to, block, size, site, call, left);
  if (!record_here(state, seen)) [[unlikely]]
    return reallocate_unrecorded(state, from, to, block, size, site, call);
  return record_reallocation(state, from, to, block, size, site, call);
}

}  // namespace heaplab::recorder
