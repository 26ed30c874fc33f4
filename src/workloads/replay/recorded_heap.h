#pragma once

#include <cstddef>
#include <cstdlib>
#include <new>

#include "base/compiler.h"
#include "recorded/workload_format.h"
#include "workloads/harness/heap_calls.h"

namespace heaplab::replay {

using recorded::action;

// Returns the same block for every allocation and frees nothing: the remaining time of a run is the
// replayer's own.
class no_heap {
public:
  template <class Call>
  HEAPLAB_FAST_PATH void* allocation(Call) {
    asm volatile("" : : "r"(room_) : "memory");
    return room_;
  }
  template <class Call>
  HEAPLAB_FAST_PATH void releasing(Call) {
    asm volatile("" : : "r"(room_) : "memory");
  }

private:
  alignas(std::max_align_t) std::byte room_[16];
};

// The calls of a recording, each by the function that the program called. Heap is a heap of the harness
// (heap_calls.h) or no_heap. A null result ends the program, except for a request of 0 bytes, which malloc
// may answer with null.
template <class Heap>
class recorded_heap {
public:
  explicit recorded_heap(Heap& heap) : heap_(heap) {}

  HEAPLAB_FAST_PATH void* allocate(std::size_t bytes) {
    return expect(heap_.allocation([&] { return std::malloc(bytes); }), bytes);
  }
  HEAPLAB_FAST_PATH void* allocate_zeroed(std::size_t bytes) {
    return expect(heap_.allocation([&] { return std::calloc(1, bytes); }), bytes);
  }
  HEAPLAB_FAST_PATH void* create(std::size_t bytes) {
    return expect(heap_.allocation([&] { return created([&] { return ::operator new(bytes); }); }), bytes);
  }
  void* allocate_aligned(const recorded::side& wanted) {
    const std::size_t least = sizeof(void*);
    void* block = nullptr;
    return expect(heap_.allocation([&] {
      const std::size_t alignment = wanted.alignment < least ? least : wanted.alignment;
      return ::posix_memalign(&block, alignment, wanted.bytes) == 0 ? block : nullptr;
    }),
                  wanted.bytes);
  }
  void* create_aligned(const recorded::side& wanted) {
    const auto alignment = std::align_val_t{wanted.alignment};
    return expect(
        heap_.allocation([&] { return created([&] { return ::operator new(wanted.bytes, alignment); }); }),
        wanted.bytes);
  }
  HEAPLAB_FAST_PATH void* reallocate(void* block, std::size_t bytes) {
    return expect(heap_.allocation([&] { return std::realloc(block, bytes); }), bytes);
  }

  HEAPLAB_FAST_PATH void release(void* block) {
    heap_.releasing([&] { std::free(block); });
  }
  HEAPLAB_FAST_PATH void destroy(void* block) {
    heap_.releasing([&] { ::operator delete(block); });
  }
  HEAPLAB_FAST_PATH void destroy_sized(void* block, std::size_t bytes) {
    heap_.releasing([&] { ::operator delete(block, bytes); });
  }
  void destroy_aligned(void* block, std::size_t alignment) {
    heap_.releasing([&] { ::operator delete(block, std::align_val_t{alignment}); });
  }

private:
  template <class Create>
  HEAPLAB_FAST_PATH static void* created(Create create) {
    try {
      return create();
    } catch (const std::bad_alloc&) {
      return nullptr;
    }
  }

  // A slot must not stay null, because other threads may wait for its block.
  HEAPLAB_FAST_PATH static void* expect(void* block, std::size_t bytes) {
    if (block != nullptr) [[likely]]
      return block;
    return instead_of_nothing(bytes);
  }

  [[gnu::noinline, gnu::cold]] static void* instead_of_nothing(std::size_t bytes) {
    void* const block = bytes == 0 ? std::malloc(1) : nullptr;
    if (block == nullptr) harness::out_of_memory(bytes);
    return block;
  }

  Heap& heap_;
};

}  // namespace heaplab::replay
