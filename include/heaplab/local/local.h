// heaplab::local: local memory allocators. Users include this header alone; docs/local-allocators.md explains
// how.
//
// Levels; each header includes only headers of the levels above its own:
//   1  source.h align.h fail.h growth.h poison.h size_classes.h    words and arithmetic
//   2  block_list.h                                     mechanism: remember what to give back
//   3  new_delete.h monotonic.h multipool.h multipool_over_monotonic.h counting.h limiting.h     owners
//   4  resource.h (abstract base)  allocator.h (type parameter)                                  adapters
//   5  winks_out.h wink.h                               objects that are never destroyed
// checked.h, for tests of programs that use a resource, is not among them.
#pragma once

#if __cplusplus < 202002L
#error "heaplab::local needs C++20 or later: compile with -std=c++20"
#else

#include "heaplab/local/allocator.h"
#include "heaplab/local/counting.h"
#include "heaplab/local/limiting.h"
#include "heaplab/local/monotonic.h"
#include "heaplab/local/multipool.h"
#include "heaplab/local/multipool_over_monotonic.h"
#include "heaplab/local/new_delete.h"
#include "heaplab/local/resource.h"
#include "heaplab/local/source.h"
#include "heaplab/local/wink.h"
#include "heaplab/local/winks_out.h"

#endif
