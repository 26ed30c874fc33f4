// fork(2) copies one thread and the memory of all, at whatever instruction the others stand. Nothing is done
// about it before fork: a heap that held its locks meanwhile would keep other threads waiting while fork
// waits for them (the C library's fork takes the locks of stdio and of its name services after every handler,
// and who has those may wait for who waits for memory). The child repairs what it finds.
//
// Handlers of pthread_atfork run in the child in the order of their registration. So the heap registers first
// of all (the library is linked with -z initfirst, and a static program runs this priority before its own
// constructors): then every other handler may allocate.
//
// Included by bind.h, behind the definition of bound_heap.
#pragma once

#include <pthread.h>

#include "base/atomic.h"
#include "shim/heap_concept.h"

namespace heaplab::shim {

// Whether the heap is being repaired. relaxed: between a thread and its own signal handlers.
inline constinit atomic<bool> repairing = false;

inline void repair_in_child() {
  // The handler of a signal that interrupts this may fork; its child goes on here when the handler returns.
  if (repairing.exchange(true, std::memory_order_relaxed)) return;
  bound_heap::after_fork_in_child();
  repairing.store(false, std::memory_order_relaxed);
}

[[gnu::constructor(101)]] inline void register_fork_handlers() {
  pthread_atfork(nullptr, nullptr, repair_in_child);
}

}  // namespace heaplab::shim
