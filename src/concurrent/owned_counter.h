#pragma once

#include <cstdint>
#include <type_traits>

#include "base/atomic.h"
#include "base/compiler.h"

namespace heaplab::concurrent {

// A number that one thread, the owner, changes and any thread reads. A change takes no atomic
// read-modify-write: no other writer can come between the owner's load and store. On x86-64 a change is one
// instruction on memory, which compilers do not generate from an atomic load and an atomic store.
//
// Every change is a release: a thread that reads the new value sees what the owner did before.
template <class Sync>
class owned_counter {
public:
  constexpr owned_counter() = default;
  constexpr explicit owned_counter(std::int32_t value) : value_(value) {}

  // Called by any thread.
  std::int32_t read(std::memory_order order) const { return value_.load(order); }

  // This and all functions below are called by the owner.
  std::int32_t read_own() const { return value_.load(std::memory_order_relaxed); }
  void set(std::int32_t value) { value_.store(value, std::memory_order_release); }

  HEAPLAB_FAST_PATH void increment() { change_by<1>(); }
  HEAPLAB_FAST_PATH void decrement() { change_by<-1>(); }

  // Returns whether the number is now zero or less.
  HEAPLAB_FAST_PATH bool decrease_is_spent(std::int32_t by) {
    if constexpr (is_one_instruction) {
#if defined(__x86_64__)
      bool spent;
      asm volatile("subl %2, %0" : "+m"(value_), "=@ccle"(spent) : "ri"(by) : "memory");
      return spent;
#endif
    }
    const std::int32_t value = read_own() - by;
    set(value);
    return value <= 0;
  }

  // Returns whether the number is now below zero. For a number of which others want a hint alone: it
  // publishes nothing.
  HEAPLAB_FAST_PATH bool decrement_is_negative() {
    if constexpr (is_one_instruction) {
#if defined(__x86_64__)
      bool negative;
      asm volatile("subl $1, %0" : "+m"(value_), "=@ccs"(negative));
      return negative;
#endif
    }
    const std::int32_t value = read_own() - 1;
    value_.store(value, std::memory_order_relaxed);
    return value < 0;
  }

private:
  using number = typename Sync::template atomic<std::int32_t>;

#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
  static constexpr bool is_one_instruction =
      std::is_same_v<number, atomic<std::int32_t>> && sizeof(number) == sizeof(std::int32_t);
#else
  static constexpr bool is_one_instruction = false;
#endif

  template <std::int32_t Difference>
  HEAPLAB_FAST_PATH void change_by() {
    if constexpr (is_one_instruction) {
#if defined(__x86_64__)
      asm volatile("addl %1, %0" : "+m"(value_) : "i"(Difference) : "memory", "cc");
#endif
    } else {
      set(read_own() + Difference);
    }
  }

  number value_{0};
};

}  // namespace heaplab::concurrent
