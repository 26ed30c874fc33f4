#pragma once

#include <type_traits>

namespace heaplab::scalloc {

// A part of the variants for which `Condition` holds. The others have an empty object of a type of its own in
// its place, which needs no memory.
template <class Part>
struct absent {};
template <bool Condition, class Part>
using part_if = std::conditional_t<Condition, Part, absent<Part>>;

// Instead of block_secrets. A link is the address of the next free block.
struct plain_links {
  static void* next_of(const void* block) { return *static_cast<void* const*>(block); }
  static void link(void* block, void* next) { *static_cast<void**>(block) = next; }
};

}  // namespace heaplab::scalloc
