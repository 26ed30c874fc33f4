// Adaptor: fails when a limit is reached, for memory budgets and for tests of programs that run out of
// memory.
#pragma once

#include <cstddef>
#include <limits>
#include <new>

#include "heaplab/local/fail.h"
#include "heaplab/local/new_delete.h"
#include "heaplab/local/source.h"

namespace heaplab::local {

struct allocation_limits {
  std::size_t live_bytes = std::numeric_limits<std::size_t>::max();  // largest number of bytes live at a time
  std::size_t allocations = std::numeric_limits<std::size_t>::max();  // number of allocations that succeed
};

// Throws std::bad_alloc instead of exceeding a limit; a call that throws changes nothing. For one thread at a
// time.
template <source Upstream = new_delete>
class limiting {
public:
  // `upstream` is referred to, not owned.
  explicit limiting(const allocation_limits& limits, Upstream& upstream = default_source<Upstream>())
      : upstream_(&upstream), left_(limits) {}

  limiting(const limiting&) = delete;
  limiting& operator=(const limiting&) = delete;

  [[nodiscard]] void* allocate(std::size_t bytes, std::size_t alignment) {
    if (bytes > left_.live_bytes || left_.allocations == 0) fail<std::bad_alloc>();
    void* block = upstream_->allocate(bytes, alignment);
    left_.live_bytes -= bytes;
    --left_.allocations;
    return block;
  }

  void deallocate(void* block, std::size_t bytes, std::size_t alignment) {
    upstream_->deallocate(block, bytes, alignment);
    left_.live_bytes += bytes;
  }

  // The bytes and the allocations that are left before each limit is reached.
  const allocation_limits& left() const { return left_; }

private:
  Upstream* upstream_;
  allocation_limits left_;
};

static_assert(source<limiting<>>);

}  // namespace heaplab::local
