#pragma once

#include <cstddef>
#include <utility>

#include "base/bits.h"
#include "base/compiler.h"

namespace heaplab::scalloc {

// Freed blocks of one thread that must not be used again yet: a block leaves, together with others, when
// `Least` to 2 * Least further blocks have come. For one thread. A fork may copy the thread at any
// instruction: the child may lose a block, and finds none twice.
template <std::size_t Least>
class quarantine {
  static constexpr std::size_t slots = 2 * Least;
  static_assert(is_power_of_two(Least));

public:
  // True: the older half must be drained before the next block comes.
  HEAPLAB_FAST_PATH bool add(void* block) {
    slots_[count_++ % slots] = block;
    return count_ % Least == 0;
  }

  template <class Visit>
  void for_each(Visit&& visit) const {
    for (void* const block : slots_)
      if (block != nullptr) visit(block);
  }

  // After add() returned true: calls visit(block) for each of the older half, which leave.
  template <class Visit>
  HEAPLAB_FAST_PATH void drain_older(Visit&& visit) {
    void** const older = &slots_[count_ % slots];
    for (std::size_t index = 0; index < Least; ++index)
      if (void* const block = std::exchange(older[index], nullptr)) visit(block);
  }

  // Calls visit(block) for every block, and is empty then.
  template <class Visit>
  void drain_all(Visit&& visit) {
    for (void*& slot : slots_)
      if (void* const block = std::exchange(slot, nullptr)) visit(block);
  }

private:
  void* slots_[slots] = {};
  std::size_t count_ = 0;
};

}  // namespace heaplab::scalloc
