// Blocks that carry their expected contents, for tests that move work between threads and processes.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdlib>
#include <random>

#include "base/assertion.h"
#include "check/amount.h"
#include "check/blocks.h"

namespace heaplab::check {

using namespace heaplab::testing;

using random_engine = std::minstd_rand;

// Mostly small sizes, at times up to 2 MiB.
inline std::size_t random_size(random_engine& random) {
  const auto kind = random() % 1000;
  if (kind == 0) return 1 + random() % (2U << 20);
  if (kind < 20) return 1 + random() % 40000;
  return 1 + random() % 500;
}

// A block whose header says what the block must contain, so that any thread or process can check it.
struct message {
  std::size_t size;
  unsigned seed;

  static constexpr std::size_t whole = 4096;

  unsigned char* payload() { return reinterpret_cast<unsigned char*>(this + 1); }
  std::size_t checked() const { return size < whole ? size : whole; }

  static message* make(random_engine& random) {
    const std::size_t size = random_size(random);
    void* memory = nullptr;
    if (random() % 10 == 0) {
      if (posix_memalign(&memory, std::size_t{32} << random() % 8, sizeof(message) + size) != 0)
        memory = nullptr;
    } else {
      memory = std::malloc(sizeof(message) + size);
    }
    if (memory == nullptr) std::abort();
    auto* const result = new (memory) message{size, static_cast<unsigned>(random())};
    fill(result->payload(), result->checked(), result->seed);
    return result;
  }

  bool intact() { return size <= (2U << 20) && holds(payload(), checked(), seed); }

  // Resizes the block by realloc; contents are kept up to the smaller size.
  static message* resize(message* old, random_engine& random) {
    HEAPLAB_ASSERT(old->intact());
    const std::size_t size = random_size(random);
    const std::size_t kept = std::min(size, old->checked());
    const unsigned seed = old->seed;
    auto* const moved = static_cast<message*>(std::realloc(old, sizeof(message) + size));
    if (moved == nullptr || !holds(moved->payload(), kept, seed)) std::abort();
    moved->size = size;
    fill(moved->payload(), moved->checked(), seed);
    return moved;
  }
};

}  // namespace heaplab::check
