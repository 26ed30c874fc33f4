#pragma once

#include <atomic>
#include <cstdint>
#include <type_traits>

#include "base/atomic.h"
#include "base/compiler.h"
#include "base/narrow.h"

namespace heaplab::concurrent {

// Comparisons of an atomic with a value: a relaxed load and a comparison. On x86-64 each is one instruction
// on memory; compilers generate two, a load into a register and a comparison.

// Whether the value of `place` differs from `value`.
template <class Atomic>
HEAPLAB_FAST_PATH bool differs(const Atomic& place, std::uintptr_t value) {
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
  if constexpr (std::is_same_v<Atomic, atomic<std::uintptr_t>>) {
    bool result;
    asm volatile("cmpq %2, %1" : "=@ccne"(result) : "m"(place), "r"(value));
    return result;
  }
  if constexpr (std::is_same_v<Atomic, atomic<std::uint8_t>>) {
    bool result;
    asm volatile("cmpb %2, %1" : "=@ccne"(result) : "m"(place), "qi"(narrow<std::uint8_t>(value)));
    return result;
  }
#endif
  return place.load(std::memory_order_relaxed) != value;
}

// Whether the value of `place` is greater than `value`. On x86-64 every load acquires.
template <std::memory_order Order = std::memory_order_relaxed, class Atomic>
HEAPLAB_FAST_PATH bool exceeds(const Atomic& place, std::uintptr_t value) {
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
  if constexpr (std::is_same_v<Atomic, atomic<std::uintptr_t>>) {
    bool result;
    asm volatile("cmpq %2, %1" : "=@cca"(result) : "m"(place), "r"(value));
    std::atomic_signal_fence(Order);
    return result;
  }
#endif
  return place.load(Order) > value;
}

}  // namespace heaplab::concurrent
