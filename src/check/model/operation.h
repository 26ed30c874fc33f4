// One call of an allocation function, and random sequences of such calls.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <iterator>

#include "base/assertion.h"

namespace heaplab::check {

inline constexpr unsigned slot_count = 48;
inline constexpr unsigned thread_count = 3;
inline constexpr unsigned longest_sequence = 600;

enum class call : std::uint8_t {
  malloc,
  calloc,
  posix_memalign,
  aligned_alloc,
  operator_new,
  realloc,
  free,
  end_thread,
};

// Every operation is possible in every state, so that every part of a sequence is a sequence too: an
// allocation into an occupied slot frees the slot first, realloc of an empty slot allocates, and free of an
// empty slot does nothing.
struct operation {
  call function;
  std::uint8_t thread;  // the calling thread; 0 is the main thread, which never ends
  std::uint8_t slot;    // where the pointer to the block is kept
  std::size_t size;
  std::size_t alignment;  // a power of two, at least 8
};

// splitmix64 (Steele, Lea, Flood 2014).
class random_numbers {
public:
  explicit random_numbers(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }

  // A number in [0, bound).
  unsigned below(unsigned bound) {
    HEAPLAB_ASSERT(bound > 0);
    return static_cast<unsigned>(next() % bound);
  }

private:
  std::uint64_t state_;
};

// Mostly small sizes, at times up to 8 MiB; half of them lie around powers of two, where size classes begin
// and end.
inline std::size_t random_size(random_numbers& random) {
  const unsigned top = random.below(20) == 0 ? 24 : random.below(4) == 0 ? 17 : 11;
  const std::size_t power = std::size_t{1} << random.below(top);
  if (random.below(2) == 0) return power + random.next() % power;
  constexpr int near[] = {-16, -8, -1, 0, 0, 1, 8, 16};
  const std::size_t size = power + static_cast<std::size_t>(near[random.below(8)]);
  return size > power + 16 ? 0 : size;
}

inline operation random_operation(random_numbers& random, unsigned threads) {
  HEAPLAB_ASSERT(threads > 0 && threads <= thread_count);
  constexpr call mixture[] = {call::malloc,        call::malloc,       call::malloc,  call::calloc,
                              call::calloc,        call::realloc,      call::realloc, call::posix_memalign,
                              call::aligned_alloc, call::operator_new, call::free,    call::free,
                              call::free,          call::free};
  operation step;
  step.function = mixture[random.below(std::size(mixture))];
  if (random.below(60) == 0) step.function = call::end_thread;
  step.thread = static_cast<std::uint8_t>(random.below(threads));
  step.slot = static_cast<std::uint8_t>(random.below(slot_count));
  step.size = random_size(random);
  step.alignment = std::size_t{1} << (3 + random.below(random.below(10) == 0 ? 19 : 10));
  return step;
}

inline void print(const operation& step) {
  constexpr const char* names[] = {"malloc",       "calloc",  "posix_memalign", "aligned_alloc",
                                   "operator new", "realloc", "free",           "end_thread"};
  const char* const name = names[static_cast<unsigned>(step.function)];
  std::fprintf(stderr, "  thread %u: ", unsigned{step.thread});
  switch (step.function) {
    case call::end_thread:
      std::fprintf(stderr, "ends\n");
      break;
    case call::free:
      std::fprintf(stderr, "free(block[%u])\n", unsigned{step.slot});
      break;
    case call::realloc:
      std::fprintf(stderr, "block[%u] = realloc(block[%u], %zu)\n", unsigned{step.slot}, unsigned{step.slot},
                   step.size);
      break;
    case call::posix_memalign:
    case call::aligned_alloc:
      std::fprintf(stderr, "block[%u] = %s of %zu bytes aligned to %zu\n", unsigned{step.slot}, name,
                   step.size, step.alignment);
      break;
    default:
      std::fprintf(stderr, "block[%u] = %s(%zu)\n", unsigned{step.slot}, name, step.size);
  }
}

}  // namespace heaplab::check
