// fork(2) copies one thread and the memory of all threads, at whatever instruction the other threads stand.
// The heap does nothing before a fork; the child repairs the heap. Taking the heap's locks before a fork
// could deadlock: the C library's fork takes the locks of stdio and of its name services after every handler,
// and a thread that holds one of those may wait for memory.
//
// Handlers of pthread_atfork run in the child in the order of their registration. The heap registers its
// handler first, so that every other handler may allocate: the library is linked with -z initfirst, and a
// static program runs constructors of this priority before its own.
//
// Included by bind.h, behind the definition of bound_heap.
#pragma once

#include <pthread.h>

#include "base/atomic.h"
#include "base/heap_concept.h"

namespace heaplab::shim {

// Whether the heap is being repaired. relaxed: between a thread and its own signal handlers.
inline constinit atomic<bool> repairing = false;

inline void repair_in_child() {
  // A signal handler that interrupts the repair may fork. The child of that fork continues the repair when
  // the handler returns.
  if (repairing.exchange(true, std::memory_order_relaxed)) return;
  bound_heap::after_fork_in_child();
  repairing.store(false, std::memory_order_relaxed);
}

template <class Heap>
void begin_process() {
  if constexpr (requires { Heap::begin_process(); }) Heap::begin_process();
}

[[gnu::constructor(101)]] inline void register_fork_handlers() {
  begin_process<bound_heap>();
  pthread_atfork(nullptr, nullptr, repair_in_child);
}

}  // namespace heaplab::shim
