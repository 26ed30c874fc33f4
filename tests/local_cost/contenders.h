// Who is compared: heaplab, std::pmr and boost::container::pmr, each called through its own abstract base,
// and heaplab's static types. All have the C library's malloc upstream, and its bytes are counted.
#pragma once

#include <benchmark/benchmark.h>
#include <malloc.h>

#include <boost/container/pmr/monotonic_buffer_resource.hpp>
#include <boost/container/pmr/unsynchronized_pool_resource.hpp>
#include <concepts>
#include <cstddef>
#include <cstdlib>
#include <memory_resource>
#include <new>

#include "heaplab/local/local.h"

namespace heaplab::local_cost {

// malloc, counting what it really spends: the usable size and its own header of one word.
class metered {
public:
  void* allocate(std::size_t bytes, std::size_t alignment) {
    void* block = alignment <= alignof(std::max_align_t)
                      ? std::malloc(bytes)
                      : std::aligned_alloc(alignment, local::align_up(bytes, alignment));
    if (block == nullptr) throw std::bad_alloc();
    live_ += size_of(block);
    return block;
  }

  void deallocate(void* block, std::size_t, std::size_t) {
    live_ -= size_of(block);
    std::free(block);
  }

  std::size_t live() const { return live_; }

private:
  static std::size_t size_of(void* block) { return malloc_usable_size(block) + sizeof(std::size_t); }

  std::size_t live_ = 0;
};

// `metered` as the abstract base of the standard library or of Boost.
template <class Base>
class metered_resource final : public Base {
public:
  std::size_t live() const { return source_.live(); }

private:
  void* do_allocate(std::size_t bytes, std::size_t alignment) override {
    return source_.allocate(bytes, alignment);
  }
  void do_deallocate(void* block, std::size_t bytes, std::size_t alignment) override {
    source_.deallocate(block, bytes, alignment);
  }
  bool do_is_equal(const Base& other) const noexcept override { return this == &other; }

  metered source_;
};

using std_base = std::pmr::memory_resource;
using boost_base = boost::container::pmr::memory_resource;

// A contender: its upstream, the resource, and a pointer of which the compiler does not know the dynamic
// type.
template <class Upstream, class Resource, class Base>
struct contender {
  Upstream upstream;
  Resource resource;
  Base* base = &resource;

  contender()
    requires std::constructible_from<Resource, Upstream*>
      : resource(&upstream) {
    benchmark::DoNotOptimize(base);
  }

  contender()
    requires(!std::constructible_from<Resource, Upstream*>)
      : resource({}, upstream) {
    benchmark::DoNotOptimize(base);
  }

  // Bytes spent for what was handed out.
  std::size_t footprint() const { return upstream.live() + sizeof(Resource); }
};

template <class Source>
using ours = contender<metered, local::resource<Source>, std_base>;
template <class Source>
using ours_typed = contender<metered, Source, Source>;
template <class Resource>
using of_std = contender<metered_resource<std_base>, Resource, std_base>;
template <class Resource>
using of_boost = contender<metered_resource<boost_base>, Resource, boost_base>;

using heaplab_monotonic = ours<local::monotonic<metered>>;
using heaplab_monotonic_typed = ours_typed<local::monotonic<metered>>;
using std_monotonic = of_std<std::pmr::monotonic_buffer_resource>;
using boost_monotonic = of_boost<boost::container::pmr::monotonic_buffer_resource>;

using heaplab_pools = ours<local::multipool<metered>>;
using heaplab_pools_typed = ours_typed<local::multipool<metered>>;
using heaplab_pools_over_monotonic = ours<local::multipool_over_monotonic<metered>>;
using std_pools = of_std<std::pmr::unsynchronized_pool_resource>;
using boost_pools = of_boost<boost::container::pmr::unsynchronized_pool_resource>;

}  // namespace heaplab::local_cost
