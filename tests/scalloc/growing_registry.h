// The registry of large blocks with tables as it asks for them, for one thread.
#pragma once

#include <cstddef>

#include "allocators/scalloc/large/large_registry.h"

namespace heaplab::scalloc {

template <class Traits>
struct growing_registry : large_registry<Traits> {
  // False: no memory.
  bool add(char* block, std::size_t bytes) {
    typename large_registry<Traits>::spare larger;
    return large_registry<Traits>::add(block, bytes, larger) ||
           (larger.map(this->next_capacity()) && large_registry<Traits>::add(block, bytes, larger));
  }
};

}  // namespace heaplab::scalloc
