// Adaptor: fails when a limit is reached. For budgets, and for tests of a program that reaches a limit.
#pragma once

#include <cstddef>
#include <limits>
#include <new>

#include "heaplab/local/fail.h"
#include "heaplab/local/new_delete.h"
#include "heaplab/local/source.h"

namespace heaplab::local {

struct allocation_limits {
  std::size_t live_bytes = std::numeric_limits<std::size_t>::max();   // at most so many at a time
  std::size_t allocations = std::numeric_limits<std::size_t>::max();  // so many succeed in all
};

// Throws std::bad_alloc instead of exceeding a limit; then nothing has changed. For one thread at a time.
template <source Upstream = new_delete>
class limiting {
public:
  // `upstream` is held, not owned.
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

  // What is left of both limits.
  const allocation_limits& left() const { return left_; }

private:
  Upstream* upstream_;
  allocation_limits left_;
};

static_assert(source<limiting<>>);

}  // namespace heaplab::local
