// How a child of fork uses the heap it has inherited.
#pragma once

#include <unistd.h>

#include <array>
#include <cstdlib>
#include <thread>

#include "check/children.h"
#include "check/message.h"

namespace heaplab::check {

// A size with many blocks in a span, one with few, one of the coarse zone, and one with a mapping of its own.
inline constexpr std::size_t sizes[] = {48, 4000, 100'000, 3'000'000};

// One block of each size, filled.
using one_of_each = std::array<unsigned char*, std::size(sizes)>;
inline constexpr std::size_t filled = 48;

inline one_of_each make_blocks(unsigned seed) {
  one_of_each result;
  for (unsigned i = 0; i < result.size(); ++i) {
    result[i] = static_cast<unsigned char*>(std::malloc(sizes[i]));
    if (result[i] == nullptr) std::abort();
    fill(result[i], filled, seed + i);
  }
  return result;
}

inline bool check_and_free(const one_of_each& blocks, unsigned seed) {
  for (unsigned i = 0; i < blocks.size(); ++i) {
    if (!holds(blocks[i], filled, seed + i)) return false;
    std::free(blocks[i]);
  }
  return true;
}

// 0, or a number that says what is wrong with the heap of the child. `held`: blocks of threads that do not
// exist in the child.
inline int live_as_child(const one_of_each& held) {
  alarm(child_limit_s);
  constexpr unsigned times = 8;
  const auto use = [] {
    std::array<one_of_each, times> blocks;
    for (unsigned i = 0; i < times; ++i) blocks[i] = make_blocks(10 * i);
    for (unsigned i = 0; i < times; ++i)
      if (!check_and_free(blocks[i], 10 * i)) _exit(2);
  };
  use();
  std::thread(use).join();
  return check_and_free(held, 1000) ? 0 : 3;
}

}  // namespace heaplab::check
