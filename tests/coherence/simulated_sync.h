// The atomics and locks of simulated code. Threads run by turns, each turn to its end, so that no lock is
// found held: a thread that would have to wait shows that the simulated program is wrong.
#pragma once

#include <cstdint>
#include <stdexcept>

#include "coherence/machine.h"
#include "explore/observed_atomic.h"

namespace heaplab::coherence {

struct accesses_of_the_core {
  static void reads(const void* place) {
    if (machine* const running = machine::running()) running->read(place);
  }
  static void writes(const void* place) {
    if (machine* const running = machine::running()) running->write(place);
  }
  static void changes(const void* place) {
    if (machine* const running = machine::running()) running->change(place);
  }
};

struct simulated_sync {
  template <class T>
  using atomic = explore::observed_atomic<T, accesses_of_the_core>;

  using word = atomic<std::uint32_t>;

  static constexpr unsigned attempts_before_sleep = 0;
  static void pause() {}
  static void sleep(const word&, std::uint32_t) { throw std::logic_error("a simulated thread waits"); }
  static void wake_one(const word&) {}
  static bool is_alone() { return false; }
  static bool barrier() { return true; }
};

}  // namespace heaplab::coherence
