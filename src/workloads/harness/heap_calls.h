// The calls under test. A workload is written once in terms of these five functions; measurement::with_heap
// chooses between the bare calls and calls whose latency is sampled.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "base/compiler.h"
#include "probes/latency_histogram.h"
#include "probes/sampling.h"
#include "probes/tick_clock.h"

namespace heaplab::harness {

// The heap has no more memory: ends the program with one line and exit status 1.
[[noreturn, gnu::noinline, gnu::cold]] void out_of_memory(std::size_t bytes);

// malloc and free of this process, whichever library serves them. A null result ends the program.
struct plain_heap {
  HEAPLAB_FAST_PATH void* allocate(std::size_t bytes) { return expect(std::malloc(bytes), bytes); }
  HEAPLAB_FAST_PATH void* allocate_zeroed(std::size_t bytes) { return expect(std::calloc(1, bytes), bytes); }
  // `alignment` is a power of two, `bytes` a multiple of it.
  HEAPLAB_FAST_PATH void* allocate_aligned(std::size_t alignment, std::size_t bytes) {
    return expect(std::aligned_alloc(alignment, bytes), bytes);
  }
  HEAPLAB_FAST_PATH void* reallocate(void* block, std::size_t bytes) {
    return expect(std::realloc(block, bytes), bytes);
  }
  HEAPLAB_FAST_PATH void release(void* block) { std::free(block); }

  // For other functions of the malloc family: `call()` returns a block, or frees one.
  template <class Call>
  HEAPLAB_FAST_PATH void* allocation(Call call) {
    return call();
  }
  template <class Call>
  HEAPLAB_FAST_PATH void releasing(Call call) {
    call();
  }

private:
  static void* expect(void* block, std::size_t bytes) {
    if (block == nullptr && bytes != 0) [[unlikely]]
      out_of_memory(bytes);
    return block;
  }
};

// The samples of one thread, in ticks, with the time that the stamps took.
struct latency_samples {
  probes::latency_histogram allocation;
  probes::latency_histogram release;
};

// The five calls of plain_heap, each through allocation() or releasing() of Derived, which does something
// before and after the call.
template <class Derived>
class wrapped_heap {
public:
  void* allocate(std::size_t bytes) {
    return self().allocation([&] { return heap_.allocate(bytes); });
  }
  void* allocate_zeroed(std::size_t bytes) {
    return self().allocation([&] { return heap_.allocate_zeroed(bytes); });
  }
  void* allocate_aligned(std::size_t alignment, std::size_t bytes) {
    return self().allocation([&] { return heap_.allocate_aligned(alignment, bytes); });
  }
  void* reallocate(void* block, std::size_t bytes) {
    return self().allocation([&] { return heap_.reallocate(block, bytes); });
  }
  void release(void* block) {
    self().releasing([&] { heap_.release(block); });
  }

private:
  friend Derived;
  wrapped_heap() = default;
  Derived& self() { return static_cast<Derived&>(*this); }

  plain_heap heap_;
};

// Like plain_heap, but measures the time of one call in 64.
class sampled_heap : public wrapped_heap<sampled_heap> {
public:
  sampled_heap(latency_samples& samples, std::uint64_t seed)
      : samples_(&samples), allocations_(seed), releases_(~seed) {}

  template <class Call>
  HEAPLAB_FAST_PATH void releasing(Call call) {
    if (!releases_.next()) [[likely]]
      return call();
    const std::uint64_t begin = probes::read_ticks();
    call();
    samples_->release.record(probes::read_ticks() - begin);
  }
  template <class Call>
  HEAPLAB_FAST_PATH void* allocation(Call call) {
    if (!allocations_.next()) [[likely]]
      return call();
    const std::uint64_t begin = probes::read_ticks();
    void* const block = call();
    samples_->allocation.record(probes::read_ticks() - begin);
    return block;
  }

private:
  latency_samples* samples_;
  probes::sampling allocations_;
  probes::sampling releases_;
};

}  // namespace heaplab::harness
