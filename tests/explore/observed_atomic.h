// An atomic for programs that run their threads by turns in one thread of the system: its value is an
// ordinary one, and an observer is told of each operation before it is done. Every memory order is accepted
// and treated as sequentially consistent.
#pragma once

#include <atomic>

namespace heaplab::explore {

// Observer has three static functions that take the address: reads, writes, and changes for an operation that
// reads and writes in one step, also a compare-and-swap that fails.
template <class T, class Observer>
class observed_atomic {
public:
  using value_type = T;

  constexpr observed_atomic() = default;
  constexpr observed_atomic(T value) : value_(value) {}
  observed_atomic(const observed_atomic&) = delete;
  observed_atomic& operator=(const observed_atomic&) = delete;

  T load(std::memory_order = {}) const {
    Observer::reads(&value_);
    return value_;
  }
  void store(T value, std::memory_order = {}) {
    Observer::writes(&value_);
    value_ = value;
  }
  T exchange(T value, std::memory_order = {}) {
    Observer::changes(&value_);
    const T old = value_;
    value_ = value;
    return old;
  }
  T fetch_add(T value, std::memory_order = {}) {
    Observer::changes(&value_);
    const T old = value_;
    value_ = static_cast<T>(old + value);
    return old;
  }
  T fetch_or(T value, std::memory_order = {}) {
    Observer::changes(&value_);
    const T old = value_;
    value_ = static_cast<T>(old | value);
    return old;
  }
  bool compare_exchange_strong(T& expected, T wanted, std::memory_order = {}, std::memory_order = {}) {
    Observer::changes(&value_);
    if (value_ != expected) {
      expected = value_;
      return false;
    }
    value_ = wanted;
    return true;
  }
  bool compare_exchange_weak(T& expected, T wanted, std::memory_order = {}, std::memory_order = {}) {
    return compare_exchange_strong(expected, wanted);
  }

private:
  T value_{};
};

}  // namespace heaplab::explore
