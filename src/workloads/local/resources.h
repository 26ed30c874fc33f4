// Memory resources of other libraries as sources and resources of heaplab: std::pmr, and Boost.Container if
// it was found.
#pragma once

#include <concepts>
#include <cstddef>
#include <memory_resource>

#ifdef HEAPLAB_WITH_BOOST
#include <boost/container/pmr/monotonic_buffer_resource.hpp>
#include <boost/container/pmr/unsynchronized_pool_resource.hpp>
#endif

namespace heaplab::strategies {

namespace detail {

struct std_arena {
  template <class... Arguments>
  explicit std_arena(Arguments... arguments) : arena(arguments...) {}

  std::pmr::monotonic_buffer_resource arena;
};

}  // namespace detail

// Pools whose chunks come from a buffer, both from the standard library.
class std_pool_over_monotonic final : detail::std_arena, public std::pmr::unsynchronized_pool_resource {
public:
  std_pool_over_monotonic(void* buffer, std::size_t bytes)
      : std_arena(buffer, bytes), unsynchronized_pool_resource(&arena) {}
  explicit std_pool_over_monotonic(std::size_t first_chunk)
      : std_arena(first_chunk), unsynchronized_pool_resource(&arena) {}

  void release() {
    unsynchronized_pool_resource::release();
    arena.release();
  }
};

#ifdef HEAPLAB_WITH_BOOST
inline constexpr bool with_boost = true;

// A resource of Boost, which has an abstract base class of its own, as a source. Costs one more direct call
// for each block.
template <class Resource>
class boost_source {
public:
  template <class... Arguments>
    requires std::constructible_from<Resource, Arguments...>
  explicit boost_source(Arguments... arguments) : resource_(arguments...) {}

  void* allocate(std::size_t bytes, std::size_t alignment) {
    return resource_.opened::do_allocate(bytes, alignment);
  }
  void deallocate(void* block, std::size_t bytes, std::size_t alignment) {
    resource_.opened::do_deallocate(block, bytes, alignment);
  }
  void release() { resource_.release(); }

private:
  struct opened : Resource {
    using Resource::do_allocate;
    using Resource::do_deallocate;
    using Resource::Resource;
  };

  opened resource_;
};

using boost_monotonic = boost_source<boost::container::pmr::monotonic_buffer_resource>;
using boost_pool = boost_source<boost::container::pmr::unsynchronized_pool_resource>;
#else
inline constexpr bool with_boost = false;
#endif

}  // namespace heaplab::strategies
