// fork(2) copies one thread and every lock as it stands. The heap is told before and after.
//
// Handlers of pthread_atfork run before a fork in the reverse order of their registration and after it in the
// same order. So the heap registers first of all (the library is linked with -z initfirst, and a static
// program runs this priority before its own constructors): then every other handler may allocate.
//
// Included by bind.h, behind the definition of bound_heap.
#pragma once

#include <pthread.h>

#include "shim/heap_concept.h"

namespace heaplab::shim {

[[gnu::constructor(101)]] inline void register_fork_handlers() {
  pthread_atfork([] { bound_heap::before_fork(); }, [] { bound_heap::after_fork_in_parent(); },
                 [] { bound_heap::after_fork_in_child(); });
}

}  // namespace heaplab::shim
