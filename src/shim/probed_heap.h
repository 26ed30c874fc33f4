// A heap with the probes of OpenTelemetry's contract for memory profilers (opentelemetry-ebpf-profiler,
// design document 3): otel_memory:alloc(block, size, weight) of a sampled allocation, otel_memory:free(block)
// before a sampled block is freed. While no tracer is attached, a call reads a semaphore.
#pragma once

#include <cstddef>

#include "base/compiler.h"
#include "base/heap_concept.h"
#include "base/usdt.h"
#include "shim/sampled_blocks.h"

#ifndef HEAPLAB_USDT
#define HEAPLAB_USDT 0
#endif

#if HEAPLAB_USDT
HEAPLAB_PROBE_SEMAPHORE(otel_memory, alloc)
HEAPLAB_PROBE_SEMAPHORE(otel_memory, free)

namespace heaplab::shim {

inline constinit thread_local byte_sampler sampler_of_thread;
inline constinit sampled_blocks sampled;

template <class Heap>
struct probed_heap : Heap {
  HEAPLAB_FAST_PATH static void* allocate(std::size_t size) noexcept {
    if (is_allocation_traced()) return tell_allocation([=] { return Heap::allocate(size); }, size);
    return Heap::allocate(size);
  }

  HEAPLAB_FAST_PATH static void* allocate_zeroed(std::size_t size) noexcept {
    if (is_allocation_traced()) return tell_allocation([=] { return Heap::allocate_zeroed(size); }, size);
    return Heap::allocate_zeroed(size);
  }

  HEAPLAB_FAST_PATH static void* allocate_aligned(std::size_t alignment, std::size_t size) noexcept {
    if (is_allocation_traced())
      return tell_allocation([=] { return Heap::allocate_aligned(alignment, size); }, size);
    return Heap::allocate_aligned(alignment, size);
  }

  HEAPLAB_FAST_PATH static void deallocate(void* block) noexcept {
    if (is_release_traced()) return tell_release(block);
    Heap::deallocate(block);
  }

  // The old block is told before its memory can be another's, and told anew where the call fails.
  HEAPLAB_FAST_PATH static void* reallocate(void* block, std::size_t size) noexcept {
    if (!is_allocation_traced() && !is_release_traced()) return Heap::reallocate(block, size);
    return tell_reallocation(block, size);
  }

private:
  HEAPLAB_FAST_PATH static bool is_allocation_traced() { return HEAPLAB_PROBE_IS_TRACED(otel_memory, alloc); }
  HEAPLAB_FAST_PATH static bool is_release_traced() { return HEAPLAB_PROBE_IS_TRACED(otel_memory, free); }

  static void sample(void* block, std::size_t size, std::uint64_t weight) {
    if (weight != 0 && block != nullptr && sampled.add(block))
      HEAPLAB_PROBE3(otel_memory, alloc, block, size, weight);
  }

  template <class Call>
  HEAPLAB_SLOW_PATH static void* tell_allocation(Call call, std::size_t size) noexcept {
    void* const block = call();
    if (block != nullptr) sample(block, size, sampler_of_thread.weight_of(size));
    return block;
  }

  static bool forget(void* block) {
    if (block == nullptr || !sampled.remove(block)) return false;
    HEAPLAB_PROBE1(otel_memory, free, block);
    return true;
  }

  HEAPLAB_SLOW_PATH static void tell_release(void* block) noexcept {
    forget(block);
    Heap::deallocate(block);
  }

  HEAPLAB_SLOW_PATH static void* tell_reallocation(void* block, std::size_t size) noexcept {
    const std::size_t before = Heap::usable_size(block);
    const bool was_sampled = forget(block);
    void* const moved = Heap::reallocate(block, size);
    if (moved != nullptr)
      sample(moved, size, sampler_of_thread.weight_of(size));
    else if (was_sampled)
      sample(block, before, byte_sampler::interval);
    return moved;
  }
};

}  // namespace heaplab::shim
#endif

namespace heaplab::shim {

#if HEAPLAB_USDT
template <class Heap>
using with_probes = probed_heap<Heap>;
#else
template <class Heap>
using with_probes = Heap;
#endif

}  // namespace heaplab::shim
