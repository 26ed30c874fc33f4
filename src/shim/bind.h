// Makes a malloc of a heap. An allocator's library.cpp names its heap and includes this:
//
//   #include "allocators/bump/bump_heap.h"
//
//   namespace heaplab::shim {
//   using bound_heap = bump::bump_heap;
//   }
//
//   #include "shim/bind.h"
//
// heaplab_add_malloc_library (cmake/) compiles that file twice, for the C names and for the C++ names. The
// two are separate objects, so that a C program linked against the static archive needs no C++ run-time
// library.
#pragma once

#include "base/heap_concept.h"

static_assert(heaplab::heap<heaplab::shim::bound_heap>);

#if defined(HEAPLAB_BIND_C)
#include "shim/fork_safety.h"
#include "shim/malloc_api.h"
#include "shim/statistics_api.h"
#elif defined(HEAPLAB_BIND_CXX)
#include "shim/new_api.h"
#else
#error "define HEAPLAB_BIND_C or HEAPLAB_BIND_CXX"
#endif
