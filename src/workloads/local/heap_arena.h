// An arena of the general allocator that serves this process, used as a managed source.
#pragma once

#include <cstddef>

#include "heaplab/local/source.h"

namespace heaplab::strategies {

// The destructor destroys the arena. mimalloc: mi_heap_new and mi_heap_destroy. jemalloc: arenas.create and
// arena.N.destroy, with a thread cache of its own, because jemalloc's other blocks have a thread cache too.
// For one thread at a time.
class heap_arena {
public:
  // Throws harness::run_error if the library that serves malloc has no arenas.
  static void expect_available();

  // Creates an arena. Throws std::bad_alloc. The behavior is undefined unless expect_available() has
  // returned.
  heap_arena();
  ~heap_arena();
  heap_arena(const heap_arena&) = delete;
  heap_arena& operator=(const heap_arena&) = delete;

  // Throws std::bad_alloc.
  void* allocate(std::size_t bytes, std::size_t alignment);
  void deallocate(void* block, std::size_t bytes, std::size_t alignment);

  // Reclaims all blocks; a fresh arena replaces the old one.
  void release();

private:
  void open();
  void close();

  void* heap_ = nullptr;  // the heap of mimalloc
  unsigned arena_ = 0;    // the arena of jemalloc
  int flags_ = 0;         // jemalloc: arena and thread cache, as flags of its calls
  unsigned cache_ = 0;
};

static_assert(local::managed_source<heap_arena>);

}  // namespace heaplab::strategies
