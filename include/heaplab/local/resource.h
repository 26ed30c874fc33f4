// Adapter: a source as a std::pmr::memory_resource, the abstract base (P0089, section 4).
#pragma once

#include <cstddef>
#include <memory_resource>
#include <type_traits>

#include "heaplab/local/counting.h"
#include "heaplab/local/limiting.h"
#include "heaplab/local/monotonic.h"
#include "heaplab/local/multipool.h"
#include "heaplab/local/multipool_over_monotonic.h"
#include "heaplab/local/new_delete.h"
#include "heaplab/local/source.h"

namespace heaplab::local {

// A source that is a memory resource as well. Its constructors and all its other functions are those of the
// source; allocate and deallocate are those of std::pmr::memory_resource. Two resources are equal if they are
// the same object or, in code compiled with RTTI, have no state.
template <source Source>
class resource final : public std::pmr::memory_resource, public Source {
public:
  using Source::Source;
  using std::pmr::memory_resource::allocate;
  using std::pmr::memory_resource::deallocate;

private:
  void* do_allocate(std::size_t bytes, std::size_t alignment) override {
    return Source::allocate(bytes, alignment);
  }

  void do_deallocate(void* block, std::size_t bytes, std::size_t alignment) override {
    Source::deallocate(block, bytes, alignment);
  }

  bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override {
#ifdef __cpp_rtti
    if constexpr (std::is_empty_v<Source>) return dynamic_cast<const resource*>(&other) != nullptr;
#endif
    return this == &other;
  }
};

// The local allocators with any memory resource as upstream; the default is std::pmr::get_default_resource().
using monotonic_resource = resource<monotonic<std::pmr::memory_resource>>;
using multipool_resource = resource<multipool<std::pmr::memory_resource>>;
using synchronized_multipool_resource = resource<synchronized_multipool<std::pmr::memory_resource>>;
using multipool_over_monotonic_resource = resource<multipool_over_monotonic<std::pmr::memory_resource>>;
using new_delete_resource = resource<new_delete>;
using counting_resource = resource<counting<std::pmr::memory_resource>>;
using limiting_resource = resource<limiting<std::pmr::memory_resource>>;

}  // namespace heaplab::local
