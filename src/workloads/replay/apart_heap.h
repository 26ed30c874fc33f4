// A heap for the blocks of chosen call sites, beside the heap under test: what a program has that gives them
// a pool of their own. Size classes in chunks of 64 KiB, each chunk of one class; a chunk without blocks goes
// back to the system at once, and so does each large block. One lock: memory is measured here, not time.
#pragma once

#include <array>
#include <cstddef>

#include "base/atomic.h"

namespace heaplab::replay {

class apart_heap {
public:
  static constexpr std::size_t chunk_bytes = std::size_t{64} << 10;
  static constexpr std::size_t largest_small = chunk_bytes / 8;
  static constexpr std::size_t smallest = 16;

  apart_heap() = default;
  apart_heap(const apart_heap&) = delete;
  apart_heap& operator=(const apart_heap&) = delete;

  // `alignment` is a power of two, or 0 for that of malloc. Null where the system refuses memory.
  void* allocate(std::size_t bytes, std::size_t alignment);
  // Precondition: a block that allocate() returned for the same bytes and alignment.
  void release(void* block, std::size_t bytes, std::size_t alignment);

  // What a block of so many bytes takes.
  static std::size_t size_of_block(std::size_t bytes, std::size_t alignment);

private:
  struct chunk;
  struct free_block {
    free_block* next;
  };
  static constexpr std::size_t classes = largest_small / smallest + 1;

  class lock;
  static bool is_small(std::size_t size) { return size <= largest_small; }
  static chunk* chunk_of(void* block);
  chunk* open_chunk(std::size_t size);
  void link(chunk* added);
  void unlink(chunk* removed);
  bool is_sound(const chunk& held) const;

  atomic<bool> locked_{false};
  std::array<chunk*, classes> with_room_{};  // by size divided by `smallest`: chunks that are not full
};

}  // namespace heaplab::replay
