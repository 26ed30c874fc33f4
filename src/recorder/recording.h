// The fast path of every call: passes the call on and writes a record. No lock, no system call, some thirty
// instructions.
//
// `site` is the address to which the call returns. The functions below are inlined, so that
// __builtin_return_address yields the caller of the allocation function.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/bits.h"
#include "base/compiler.h"
#include "recorder/process_file.h"
#include "recorder/stamp.h"
#include "recorder/thread_state.h"

namespace heaplab::recorder {

#define HEAPLAB_SITE reinterpret_cast<std::uint64_t>(__builtin_return_address(0))

inline std::uint64_t number_of(const void* block) {
  return reinterpret_cast<std::uint64_t>(block);
}

// Precondition: `alignment` is a power of two, or 0.
inline std::uint8_t log2_of(std::size_t alignment) {
  return alignment == 0 ? std::uint8_t{0} : static_cast<std::uint8_t>(log2_floor(alignment));
}

// Slow path of record_here: whether the call is to be recorded after all, because it is the first of the
// process.
HEAPLAB_SLOW_PATH inline bool record_nevertheless(const thread_state& state) {
  if (recording_state() == not_begun && state.doing == activity::none) begin();
  if (recording_state() != trace::recording::on) return false;
  if (state.doing == activity::call) count_lost(state, trace::loss::nested);
  return state.doing == activity::none;
}

HEAPLAB_FAST_PATH bool record_here(const thread_state& state) {
  if (recording_state() == trace::recording::on && state.doing == activity::none) [[likely]]
    return true;
  return record_nevertheless(state);
}

template <class Call>
HEAPLAB_FAST_PATH void* acquire(trace::kind kind, std::size_t size, std::uint8_t alignment_log2,
                                std::uint64_t site, Call call) {
  thread_state& state = here;
  if (!record_here(state)) [[unlikely]]
    return call();
  const doing a_call(state, activity::call);
  void* const block = call();
  const std::uint64_t stamp = stamp_after();
  fill(claim(state), stamp, kind, number_of(block), size, site, alignment_log2);
  return block;
}

template <class Call>
HEAPLAB_FAST_PATH void release(trace::kind kind, void* block, std::size_t size, std::size_t alignment,
                               std::uint64_t site, Call call) {
  thread_state& state = here;
  if (block == nullptr || !record_here(state)) [[unlikely]]
    return call();
  const doing a_call(state, activity::call);
  trace::raw_record* const record = claim(state);
  fill(record, stamp_before(), kind, number_of(block), size, site, log2_of(alignment));
  call();
}

// Precondition: `block` is not null.
template <class Call>
HEAPLAB_FAST_PATH void* reallocate(trace::kind from, trace::kind to, void* block, std::size_t size,
                                   std::uint64_t site, Call call) {
  thread_state& state = here;
  if (!record_here(state)) [[unlikely]]
    return call();
  const doing a_call(state, activity::call);
  trace::raw_record* const record = claim(state);
  fill(record, stamp_before(), from, number_of(block), 0, site);
  void* const moved = call();
  const std::uint64_t stamp = stamp_after();
  fill(claim(state), stamp, to, number_of(moved), size, site);
  return moved;
}

}  // namespace heaplab::recorder
