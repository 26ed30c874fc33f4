#include "allocators/bump/bump_heap.h"

namespace heaplab::shim {
using bound_heap = bump::bump_heap;
}

#include "shim/bind.h"
