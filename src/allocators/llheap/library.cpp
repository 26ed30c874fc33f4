#include "allocators/llheap/bound_heap.h"

namespace heaplab::shim {
using bound_heap = llheap::bound_heap;
}

#include "shim/bind.h"
