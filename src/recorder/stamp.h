// Stamps that order a release before the acquisition that gets the same block.
//
// The time stamp counter is read without a fence after an acquisition. Before a release it is read after all
// earlier instructions and before any later one (rdtscp, lfence): the releasing thread cannot pass the block
// on before it has read its stamp. That the acquiring thread then reads a later stamp was measured, and is
// checked on every recording (verifier.h).
#pragma once

#include <cstdint>

#include "base/atomic.h"
#include "base/compiler.h"

namespace heaplab::recorder {

inline constinit bool stamps_are_tickets = false;  // set once, before the first stamp
// Tickets order calls: a release draws its ticket before the block can be passed on. acq_rel: neither the
// call before nor the call after moves past the draw.
inline constinit atomic<std::uint64_t> next_ticket = 1;

inline std::uint64_t ticket() {
  return next_ticket.fetch_add(1, std::memory_order_acq_rel);
}

HEAPLAB_FAST_PATH std::uint64_t stamp_after() {
  if (stamps_are_tickets) [[unlikely]]
    return ticket();
#if defined(__x86_64__)
  return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
  std::uint64_t ticks;
  asm volatile("isb; mrs %0, cntvct_el0" : "=r"(ticks)::"memory");
  return ticks;
#endif
}

HEAPLAB_FAST_PATH std::uint64_t stamp_before() {
  if (stamps_are_tickets) [[unlikely]]
    return ticket();
#if defined(__x86_64__)
  unsigned processor;
  const std::uint64_t ticks = __builtin_ia32_rdtscp(&processor);
  __builtin_ia32_lfence();
  return ticks;
#elif defined(__aarch64__)
  std::uint64_t ticks;
  asm volatile("isb; mrs %0, cntvct_el0; isb" : "=r"(ticks)::"memory");
  return ticks;
#endif
}

}  // namespace heaplab::recorder
