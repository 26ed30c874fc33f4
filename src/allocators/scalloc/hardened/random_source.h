#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "allocators/scalloc/policy/config.h"
#include "base/keyed_hash.h"

namespace heaplab::scalloc {

// Numbers that differ from run to run and that nobody guesses who does not know the key of the process. For
// one thread at a time.
template <class Platform>
class random_source {
public:
  std::uint64_t next() {
    if (count_ == 0) seed();
    return keyed_hash(key_, count_++);
  }

private:
  // A key of the source's own: no two sources that exist at a time have an address in common.
  void seed() {
    const auto process_key = Platform::random_key();
    const auto here = reinterpret_cast<std::uintptr_t>(this);
    key_ = {keyed_hash(process_key, here), keyed_hash(process_key, here + 1)};
    count_ = 1;
  }

  std::array<std::uint64_t, 2> key_{};
  std::uint64_t count_ = 0;  // 0: not seeded
};

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
