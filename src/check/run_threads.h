#pragma once

#include <thread>
#include <vector>

#include "base/assertion.h"

namespace heaplab::check {

// Calls work(number) in `count` threads, and returns when all have ended.
template <class Work>
void run_threads(unsigned count, Work work) {
  HEAPLAB_ASSERT(count > 0);
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < count; ++i) threads.emplace_back(work, i);
  for (std::thread& thread : threads) thread.join();
}

}  // namespace heaplab::check
