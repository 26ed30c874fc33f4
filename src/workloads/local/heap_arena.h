// An arena of the general allocator that serves this process, as a managed source.
#pragma once

#include <cstddef>

#include "heaplab/local/source.h"

namespace heaplab::strategies {

// Ends with the arena: mi_heap_new and mi_heap_destroy of mimalloc, arenas.create and arena.N.destroy of
// jemalloc (with a thread cache of its own, as its other blocks have). For one thread at a time.
class heap_arena {
public:
  // Throws harness::run_error where the library that serves malloc has no arenas.
  static void expect_available();

  // A fresh arena. Throws std::bad_alloc. The behavior is undefined unless expect_available() returned.
  heap_arena();
  ~heap_arena();
  heap_arena(const heap_arena&) = delete;
  heap_arena& operator=(const heap_arena&) = delete;

  // Throws std::bad_alloc.
  void* allocate(std::size_t bytes, std::size_t alignment);
  void deallocate(void* block, std::size_t bytes, std::size_t alignment);

  // Takes all blocks back; a fresh arena takes its place.
  void release();

private:
  void open();
  void close();

  void* heap_ = nullptr;  // of mimalloc
  unsigned arena_ = 0;    // of jemalloc
  int flags_ = 0;         // of jemalloc: arena and cache, as its calls want them
  unsigned cache_ = 0;
};

static_assert(local::managed_source<heap_arena>);

}  // namespace heaplab::strategies
