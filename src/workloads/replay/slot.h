#pragma once

#include "base/atomic.h"

namespace heaplab::replay {

// Holds the pointer to a block while the block lives. The store that fills a slot is a release; the load of
// another thread that waits for the block is an acquire. The slot thus orders the two threads.
using slot = atomic<void*>;

}  // namespace heaplab::replay
