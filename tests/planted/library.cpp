#include "planted_heap.h"

namespace heaplab::shim {
using bound_heap = planted::HEAPLAB_PLANTED_FAULT;
}

#include "shim/bind.h"
