// A table of words by key, for threads without a lock: without order, a key may push out another. A lost
// entry costs time alone.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/atomic.h"

namespace heaplab::recorder {

constexpr std::uint64_t mix(std::uint64_t hash, std::uint64_t word) {
  hash = (hash ^ word) * 0x9E3779B97F4A7C15ULL;
  return hash ^ hash >> 29;
}

// The first word of a place is the key combined with the value by exclusive or: words of two writers do not
// fit together. Values are not 0.
template <std::size_t Places>
class alignas(4096) proven_table {
public:
  // 0: not known. relaxed: the words prove each other, and nothing else is read by them.
  std::uint64_t find(std::uint64_t key) const {
    const place& at = all_[key % Places];
    const std::uint64_t value = at.value.load(std::memory_order_relaxed);
    return value != 0 && (at.mixed.load(std::memory_order_relaxed) ^ value) == key ? value : 0;
  }

  void put(std::uint64_t key, std::uint64_t value) {
    all_[key % Places].mixed.store(key ^ value, std::memory_order_relaxed);
    all_[key % Places].value.store(value, std::memory_order_relaxed);
  }

private:
  struct place {
    atomic<std::uint64_t> mixed;
    atomic<std::uint64_t> value;
  };

  place all_[Places];
};

}  // namespace heaplab::recorder
