#pragma once

#include <cstddef>
#include <utility>

#include "base/bits.h"
#include "base/compiler.h"

namespace heaplab::scalloc {

// Freed blocks of one thread that must not be used again yet: a block leaves when `Slots` further blocks have
// come. For one thread. A fork may copy the thread at any instruction: the child may lose a block, and finds
// none twice.
template <std::size_t Slots>
class quarantine {
  static_assert(is_power_of_two(Slots));

public:
  // Takes a block and returns the one that leaves; null: none does yet.
  HEAPLAB_FAST_PATH void* exchange(void* block) {
    void*& slot = slots_[count_++ % Slots];
    void* const oldest = slot;
    slot = block;
    return oldest;
  }

  template <class Visit>
  void for_each(Visit&& visit) const {
    for (void* const block : slots_)
      if (block != nullptr) visit(block);
  }

  // Calls visit(block) for every block, and is empty then.
  template <class Visit>
  void drain(Visit&& visit) {
    for (void*& slot : slots_)
      if (void* const block = std::exchange(slot, nullptr)) visit(block);
  }

private:
  void* slots_[Slots] = {};
  std::size_t count_ = 0;
};

}  // namespace heaplab::scalloc
