// Work that accepts every refusal of memory: whatever the system refuses, an allocation returns memory or
// null with ENOMEM, and contents stay. Any other outcome ends the process (ending.h).
#pragma once

#include <pthread.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <utility>

#include "base/assertion.h"
#include "check/blocks.h"
#include "check/ending.h"

namespace heaplab::check {

using namespace heaplab::testing;

inline void* checked(void* block) {
  require(block != nullptr || errno == ENOMEM, "null without ENOMEM");
  errno = 0;
  return block;
}

struct link {
  link* next;
};

// Allocates blocks of `size` until malloc refuses or `most` bytes are served, frees them and returns their
// bytes.
inline std::size_t use_up(std::size_t size, std::size_t most = SIZE_MAX) {
  HEAPLAB_ASSERT(size >= sizeof(link));
  link* all = nullptr;
  std::size_t bytes = 0;
  while (bytes < most) {
    auto* const memory = static_cast<link*>(checked(std::malloc(size)));
    if (memory == nullptr) break;
    memory->next = all;
    all = memory;
    bytes += size;
  }
  while (all != nullptr) std::free(std::exchange(all, all->next));
  return bytes;
}

inline constexpr unsigned holdings = 100;
inline constexpr std::size_t checked_bytes = 1000;

struct holding {
  void* block;
  std::size_t size;

  std::size_t sample() const { return size < checked_bytes ? size : checked_bytes; }
};

inline std::size_t size_of(unsigned i) {
  constexpr std::size_t sizes[] = {16, 100, 300, 2000, 9000, 40000, 200000, 700000, 1500000, 3000000};
  return sizes[i * 7 % 10] + i;
}

inline void* allocate(unsigned i, std::size_t size) {
  void* block = nullptr;
  switch (i % 4) {
    case 0:
      return checked(std::malloc(size));
    case 1:
      block = checked(std::calloc(size, 1));
      require(block == nullptr || is_zero(block, size), "calloc: not zero");
      return block;
    case 2: {
      // A multiple of the alignment, as C11 demanded (model/shadow_heap.h).
      const std::size_t alignment = std::size_t{64} << i % 16;
      return checked(aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment));
    }
    default: {
      const int error = posix_memalign(&block, 4096, size);
      require(error == 0 || error == ENOMEM, "posix_memalign: neither memory nor ENOMEM");
      return error == 0 ? block : nullptr;
    }
  }
}

inline void resize(holding& held, unsigned i, std::size_t size) {
  void* const moved = checked(std::realloc(held.block, size));
  const std::size_t kept = held.sample() < size ? held.sample() : size;
  require(holds(moved == nullptr ? held.block : moved, kept, i), "realloc: contents lost");
  if (moved == nullptr) return;
  held = {moved, size};
  fill(moved, held.sample(), i);
}

inline void work(unsigned seed) {
  holding held[holdings] = {};
  for (unsigned i = 0; i < holdings; ++i) {
    const std::size_t size = size_of(i + seed);
    held[i] = {allocate(i, size), size};
    if (held[i].block != nullptr) fill(held[i].block, held[i].sample(), i);
    if (i % 3 == 0 && held[i].block != nullptr) resize(held[i], i, size_of(i + seed + 1 + i % 5));
  }
  for (unsigned i = 0; i < holdings; ++i) {
    if (held[i].block == nullptr) continue;
    require(holds(held[i].block, held[i].sample(), i), "contents lost");
    std::free(held[i].block);
  }
}

inline void* in_thread(void*) {
  work(3);
  return nullptr;
}

// `attributes` are those of the second thread.
inline void work_in_two_threads(const pthread_attr_t* attributes = nullptr) {
  pthread_t other;
  work(0);
  if (pthread_create(&other, attributes, in_thread, nullptr) == 0) pthread_join(other, nullptr);
  work(1);
}

}  // namespace heaplab::check
