// Time and memory of the local allocators beside their counterparts. Each item is one allocation with its
// deallocation; `overhead` is what was spent beyond the bytes asked for, over those bytes.
#include <benchmark/benchmark.h>
#include <malloc.h>

#include <algorithm>
#include <boost/container/pmr/monotonic_buffer_resource.hpp>
#include <boost/container/pmr/unsynchronized_pool_resource.hpp>
#include <concepts>
#include <cstddef>
#include <cstdlib>
#include <memory_resource>
#include <new>
#include <numeric>
#include <random>
#include <vector>

#include "heaplab/local/local.h"

namespace heaplab::local_cost {
namespace {

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

constexpr std::size_t blocks = 1024;

void touch(void* block) {
  *static_cast<volatile char*>(block) = 1;
}

// Allocates all blocks of one size, then deallocates them in the same order.
template <class Contender>
void fill_and_empty(benchmark::State& state) {
  const auto bytes = static_cast<std::size_t>(state.range(0));
  Contender own;
  std::vector<void*> held(blocks);
  for (auto _ : state) {
    for (void*& each : held) touch(each = own.base->allocate(bytes, 8));
    for (void* each : held) own.base->deallocate(each, bytes, 8);
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(blocks));
}

// The same with a new resource each time, released at the end: what a monotonic resource is for.
template <class Contender>
void fill_and_release(benchmark::State& state) {
  const auto bytes = static_cast<std::size_t>(state.range(0));
  for (auto _ : state) {
    Contender own;
    for (std::size_t i = 0; i < blocks; ++i) touch(own.base->allocate(bytes, 8));
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(blocks));
}

// Lengths of the papers' strings.
std::vector<std::size_t> string_sizes(std::size_t count) {
  std::minstd_rand random(1);
  std::uniform_int_distribution<std::size_t> length(33, 1000);
  std::vector<std::size_t> sizes(count);
  std::generate(sizes.begin(), sizes.end(), [&] { return length(random); });
  return sizes;
}

// Replaces blocks of mixed sizes in random order: one deallocation and one allocation an item.
template <class Contender>
void churn_strings(benchmark::State& state) {
  constexpr std::size_t steps = 1 << 14;
  struct slot {
    void* block;
    std::size_t bytes;
  };
  const std::vector<std::size_t> sizes = string_sizes(steps);
  std::vector<std::uint16_t> order(steps);
  std::minstd_rand random(2);
  for (auto& each : order) each = static_cast<std::uint16_t>(random() % blocks);

  Contender own;
  std::vector<slot> slots(blocks);
  for (slot& each : slots) each = {own.base->allocate(100, 1), 100};
  for (auto _ : state) {
    for (std::size_t i = 0; i < steps; ++i) {
      slot& each = slots[order[i]];
      own.base->deallocate(each.block, each.bytes, 1);
      each = {own.base->allocate(sizes[i], 1), sizes[i]};
      touch(each.block);
    }
  }
  for (const slot& each : slots) own.base->deallocate(each.block, each.bytes, 1);
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(steps));
}

void report_overhead(benchmark::State& state, std::size_t spent, std::size_t asked) {
  state.counters["overhead"] = static_cast<double>(spent) / static_cast<double>(asked) - 1;
}

// Memory of `count` live blocks of one size, or of strings when `bytes` is 0.
template <class Contender>
void memory(benchmark::State& state) {
  const auto bytes = static_cast<std::size_t>(state.range(0));
  const auto count = static_cast<std::size_t>(state.range(1));
  const std::vector<std::size_t> sizes = bytes != 0 ? std::vector(count, bytes) : string_sizes(count);
  for (auto _ : state) {
    Contender own;
    for (const std::size_t each : sizes) touch(own.base->allocate(each, 1));
    report_overhead(state, own.footprint(), std::accumulate(sizes.begin(), sizes.end(), std::size_t{0}));
  }
}

void sizes_of_time(benchmark::internal::Benchmark* own) {
  own->ArgName("bytes")->Arg(16)->Arg(64)->Arg(256)->Arg(1000)->Arg(1024)->Arg(4096);
}

void sizes_of_memory(benchmark::internal::Benchmark* own) {
  own->ArgNames({"bytes", "count"})->Iterations(1);
  for (const int bytes : {0, 16, 24, 32, 64, 256, 1024}) {
    for (const int count : {1 << 6, 1 << 10, 3000, 1 << 16}) own->Args({bytes, count});
  }
}

// Upstream keeps its pages: otherwise page faults hide the difference between allocators, or make one.
[[maybe_unused]] const bool pages_kept =
    mallopt(M_TRIM_THRESHOLD, 1 << 30) != 0 && mallopt(M_MMAP_THRESHOLD, 32 << 20) != 0;

BENCHMARK(fill_and_release<heaplab_monotonic_typed>)->Apply(sizes_of_time);
BENCHMARK(fill_and_release<heaplab_monotonic>)->Apply(sizes_of_time);
BENCHMARK(fill_and_release<std_monotonic>)->Apply(sizes_of_time);
BENCHMARK(fill_and_release<boost_monotonic>)->Apply(sizes_of_time);

BENCHMARK(fill_and_release<heaplab_pools_typed>)->Apply(sizes_of_time);
BENCHMARK(fill_and_release<heaplab_pools>)->Apply(sizes_of_time);
BENCHMARK(fill_and_release<heaplab_pools_over_monotonic>)->Apply(sizes_of_time);
BENCHMARK(fill_and_release<std_pools>)->Apply(sizes_of_time);
BENCHMARK(fill_and_release<boost_pools>)->Apply(sizes_of_time);

BENCHMARK(fill_and_empty<heaplab_pools_typed>)->Apply(sizes_of_time);
BENCHMARK(fill_and_empty<heaplab_pools>)->Apply(sizes_of_time);
BENCHMARK(fill_and_empty<heaplab_pools_over_monotonic>)->Apply(sizes_of_time);
BENCHMARK(fill_and_empty<std_pools>)->Apply(sizes_of_time);
BENCHMARK(fill_and_empty<boost_pools>)->Apply(sizes_of_time);

BENCHMARK(churn_strings<heaplab_pools_typed>);
BENCHMARK(churn_strings<heaplab_pools>);
BENCHMARK(churn_strings<heaplab_pools_over_monotonic>);
BENCHMARK(churn_strings<std_pools>);
BENCHMARK(churn_strings<boost_pools>);

BENCHMARK(memory<heaplab_pools>)->Apply(sizes_of_memory);
BENCHMARK(memory<heaplab_pools_over_monotonic>)->Apply(sizes_of_memory);
BENCHMARK(memory<std_pools>)->Apply(sizes_of_memory);
BENCHMARK(memory<boost_pools>)->Apply(sizes_of_memory);

}  // namespace
}  // namespace heaplab::local_cost
