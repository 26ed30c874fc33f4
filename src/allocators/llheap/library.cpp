#include "allocators/llheap/bound_heap.h"
#include "shim/probed_heap.h"

namespace heaplab::shim {
using bound_heap = with_probes<llheap::bound_heap>;
}

#include "shim/bind.h"
