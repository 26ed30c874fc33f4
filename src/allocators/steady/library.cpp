#include "allocators/steady/steady_heap.h"

namespace heaplab::shim {
using bound_heap = steady::steady_heap;
}

#include "shim/bind.h"
