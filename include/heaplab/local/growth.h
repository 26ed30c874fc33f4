// Mechanism: how the chunks of a managed source grow.
#pragma once

namespace heaplab::local {

enum class growth {
  geometric,  // few chunks, whatever the total: fourfold in a monotonic allocator, by half in a pool
  doubling,   // as P0089 has it: fewer chunks, and up to half of the memory unused
  constant,   // all chunks have the same size: little of the last one is wasted
};

}  // namespace heaplab::local
