#pragma once

#include <cstdint>

#include "base/atomic.h"
#include "base/cache_line.h"
#include "workloads/acdc/object_set.h"

namespace heaplab::acdc {

// Objects of one size and liveness, shared by the threads that hold it.
struct alignas(cache_line_bytes) lifetime_size_class {
  lifetime_size_class* next = nullptr;  // in a record_pool only
  object_set objects;
  std::uint64_t liveness = 0;
  // Set before the class is given to others; each holder takes one off when the class expires for it, and
  // the last one, having seen what the others did to the objects, frees them.
  atomic<std::uint32_t> holders{1};
};

// That one thread holds a lifetime-size-class.
struct alignas(cache_line_bytes) holding {
  holding* next = nullptr;
  lifetime_size_class* held = nullptr;
};

// Figure 3: what expires at the same time, as a list; all in constant time.
struct lifetime_class {
  holding* first = nullptr;
  holding* last = nullptr;

  void add(holding* one) {
    one->next = nullptr;
    append({one, one});
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
