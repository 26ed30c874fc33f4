#pragma once

#include <cstdint>

#include "base/atomic.h"
#include "base/cache_line.h"
#include "workloads/acdc/object_set.h"

namespace heaplab::acdc {

// Objects of one size and liveness, shared by the threads that hold the class.
struct alignas(cache_line_bytes) lifetime_size_class {
  lifetime_size_class* next = nullptr;  // used only while the record is in a record_pool
  object_set objects;
  std::uint64_t liveness = 0;
  unsigned maker = 0;  // the thread that allocated the objects
  // Set before other threads receive the class. Each holder subtracts itself when the class expires for it.
  // The last holder sees the writes of the others to the objects and frees the objects.
  atomic<std::uint32_t> holders{1};
};

// The fact that one thread holds a lifetime-size-class.
struct alignas(cache_line_bytes) holding {
  holding* next = nullptr;
  lifetime_size_class* held = nullptr;
};

// Figure 3: a list of the holdings that expire at the same time. Every operation takes constant time.
struct lifetime_class {
  holding* first = nullptr;
  holding* last = nullptr;

  void add(holding* node) {
    node->next = nullptr;
    append({node, node});
  }

  void append(lifetime_class other) {
    if (other.first == nullptr) return;
    (last == nullptr ? first : last->next) = other.first;
    last = other.last;
  }

  lifetime_class take_all() {
    const lifetime_class all = *this;
    *this = {};
    return all;
  }
};

}  // namespace heaplab::acdc
