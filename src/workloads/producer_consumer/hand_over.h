// Objects that one thread allocates and another frees, in batches.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "workloads/harness/batch_queue.h"
#include "workloads/harness/harness.h"

namespace heaplab {

using object_queue = harness::batch_queue<harness::block>;

// Sends `objects` objects in batches.
template <class Heap>
void produce(Heap& heap, object_queue& queue, std::uint64_t objects, const harness::size_mix& sizes,
             harness::random_stream& random) {
  while (objects > 0) {
    queue.send([&](std::span<harness::block> batch) {
      const std::size_t count = std::min<std::uint64_t>(batch.size(), objects);
      for (std::size_t i = 0; i < count; ++i)
        batch[i] = harness::allocate_stamped(heap, sizes.logarithmic(random), harness::stamp_of(i));
      objects -= count;
      return count;
    });
  }
}

// Frees all received objects until the queue is closed; returns their number.
template <class Heap>
std::uint64_t consume(Heap& heap, object_queue& queue) {
  std::uint64_t objects = 0;
  while (queue.receive([&](std::span<harness::block> batch) {
    for (std::size_t i = 0; i < batch.size(); ++i)
      harness::release_stamped(heap, batch[i], harness::stamp_of(i));
    objects += batch.size();
  })) {
  }
  return objects;
}

}  // namespace heaplab
