// A local allocator of heaplab for the blocks that one thread allocates apart: what a program has whose
// subsystem uses the allocator as its memory resource.
#pragma once

#include <cstddef>
#include <memory>
#include <memory_resource>

#include "base/assertion.h"
#include "heaplab/local/local.h"

namespace heaplab::replay {

enum class local_kind { none, monotonic, multipool, both };

// Where no block lives any more, an episode has ended: a monotonic allocator, also below a multipool,
// releases its memory. A multipool alone lives as long as the thread.
class local_heap {
public:
  // Precondition: `kind` is not none.
  explicit local_heap(local_kind kind) {
    HEAPLAB_ASSERT(kind != local_kind::none);
    if (kind == local_kind::monotonic) {
      serve_episodes_by<local::monotonic_resource>();
    } else if (kind == local_kind::both) {
      serve_episodes_by<local::multipool_over_monotonic_resource>();
    } else {
      source_ = std::make_unique<local::multipool_resource>();
    }
  }

  // `alignment` is a power of two, or 0 for that of malloc. Throws std::bad_alloc.
  void* allocate(std::size_t bytes, std::size_t alignment) {
    ++live_;
    return source_->allocate(bytes, aligned(alignment));
  }

  // Precondition: a block that allocate() returned for the same bytes and alignment.
  void release(void* block, std::size_t bytes, std::size_t alignment) {
    HEAPLAB_ASSERT(live_ != 0);
    source_->deallocate(block, bytes, aligned(alignment));
    if (--live_ == 0 && end_episode_ != nullptr) end_episode_(*source_);
  }

private:
  template <class Resource>
  void serve_episodes_by() {
    source_ = std::make_unique<Resource>();
    end_episode_ = [](std::pmr::memory_resource& of) { static_cast<Resource&>(of).release(); };
  }

  static std::size_t aligned(std::size_t alignment) {
    return alignment != 0 ? alignment : local::maximum_alignment;
  }

  std::unique_ptr<std::pmr::memory_resource> source_;
  void (*end_episode_)(std::pmr::memory_resource&) = nullptr;
  std::size_t live_ = 0;
};

}  // namespace heaplab::replay
