#pragma once

#include <cstddef>
#include <cstdint>

#include "allocators/scalloc/hardened/random_source.h"
#include "allocators/scalloc/policy/config.h"

namespace heaplab::scalloc {

// Reserves address space for an arena. Hardened, unless the address space is limited: at a random place of a
// larger reservation, the rest of which goes back. So the distance from the arena to libraries and stacks,
// which the kernel chooses once, tells nothing. Null: the system refuses.
template <class Platform, const config& Settings>
void* reserve_scattered(std::size_t bytes) {
  constexpr std::size_t step = Settings.arena_alignment(), scatter = Settings.arena_scatter_bytes;
  char* place = nullptr;
  if (Settings.hardened && Platform::address_space_limit() == SIZE_MAX)
    place = static_cast<char*>(Platform::reserve_without_access(bytes + scatter, step));
  if (place == nullptr) return Platform::reserve_without_access(bytes, step);
  const std::size_t before = random_source<Platform>().next() % (scatter / step + 1) * step;
  Platform::unmap(place, before);
  Platform::unmap(place + before + bytes, scatter - before);
  return place + before;
}

}  // namespace heaplab::scalloc
