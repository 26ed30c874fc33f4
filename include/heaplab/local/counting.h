// Adaptor: counts the calls and bytes that pass through to upstream, for tests and measurements.
#pragma once

#include <algorithm>
#include <cstddef>

#include "heaplab/local/new_delete.h"
#include "heaplab/local/source.h"

namespace heaplab::local {

struct allocation_counts {
  std::size_t allocations = 0;    // calls that returned
  std::size_t deallocations = 0;  // calls
  std::size_t live_bytes = 0;     // as requested
  std::size_t peak_bytes = 0;     // the largest value of live_bytes so far
  std::size_t total_bytes = 0;    // sum over all allocations

  std::size_t live_blocks() const { return allocations - deallocations; }
};

// For one thread at a time.
template <source Upstream = new_delete>
class counting {
public:
  // `upstream` is referred to, not owned.
  explicit counting(Upstream& upstream = default_source<Upstream>()) : upstream_(&upstream) {}

  counting(const counting&) = delete;
  counting& operator=(const counting&) = delete;

  [[nodiscard]] void* allocate(std::size_t bytes, std::size_t alignment) {
    void* block = upstream_->allocate(bytes, alignment);
    ++counts_.allocations;
    counts_.live_bytes += bytes;
    counts_.total_bytes += bytes;
    counts_.peak_bytes = std::max(counts_.peak_bytes, counts_.live_bytes);
    return block;
  }

  void deallocate(void* block, std::size_t bytes, std::size_t alignment) {
    upstream_->deallocate(block, bytes, alignment);
    ++counts_.deallocations;
    counts_.live_bytes -= bytes;
  }

  const allocation_counts& counts() const { return counts_; }

private:
  Upstream* upstream_;
  allocation_counts counts_;
};

static_assert(source<counting<>>);

}  // namespace heaplab::local
