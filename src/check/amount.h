// How much the programs of `heaplab check` do: all of it with --long, else less (HEAPLAB_STRESS=short).
#pragma once

#include <cstdlib>

namespace heaplab::check {

inline bool is_short() {
  static const bool result = std::getenv("HEAPLAB_STRESS") != nullptr;
  return result;
}

inline unsigned rounds(unsigned full) {
  return is_short() ? (full + 9) / 10 : full;
}

inline unsigned threads_at_work() {
  return is_short() ? 4 : 16;
}

}  // namespace heaplab::check
