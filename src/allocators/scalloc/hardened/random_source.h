#pragma once

#include <array>
#include <cstdint>

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

}  // namespace heaplab::scalloc
