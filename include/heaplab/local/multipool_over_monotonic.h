// Owner: pools whose chunks come from a sequential allocator, both in one object (P0089, section 3).
#pragma once

#include <cstddef>

#include "heaplab/local/monotonic.h"
#include "heaplab/local/multipool.h"
#include "heaplab/local/new_delete.h"
#include "heaplab/local/source.h"

namespace heaplab::local {

struct multipool_over_monotonic_options {
  monotonic_options arena = {};
  multipool_options pools = {};
};

// Blocks of the pools are reused at once; the memory of larger blocks is reused only after release().
// release() costs O(chunks of the arena), and the arena has far fewer chunks than the pools.
template <source Upstream = new_delete, class Lock = no_lock, pool_layout Layout = pool_layout{}>
class multipool_over_monotonic {
public:
  // `upstream` is referred to, not owned. The constructor allocates nothing.
  explicit multipool_over_monotonic(const multipool_over_monotonic_options& options = {},
                                    Upstream& upstream = default_source<Upstream>())
      : arena_(options.arena, upstream), pools_(options.pools, arena_) {}

  // As multipool::allocate.
  [[nodiscard]] void* allocate(std::size_t bytes, std::size_t alignment) {
    return pools_.allocate(bytes, alignment);
  }

  void deallocate(void* block, std::size_t bytes, std::size_t alignment) {
    pools_.deallocate(block, bytes, alignment);
  }

  // Reclaims all blocks and returns all memory to upstream.
  void release() {
    pools_.release();
    arena_.release();
  }

private:
  monotonic<Upstream> arena_;
  multipool<monotonic<Upstream>, Lock, Layout> pools_;
};

static_assert(managed_source<multipool_over_monotonic<>>);

}  // namespace heaplab::local
