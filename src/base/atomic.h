// Atomic objects whose every operation names its memory order.
//
// std::atomic uses sequential consistency where no order is named, and accepts =, ++ and plain reads as
// operations. The types here offer the same operations without defaults: an operation without an order does
// not compile, nor does a copy, an assignment or a conversion. tools/check_atomics.py rejects std::atomic in
// every other file of src and include.
#pragma once

#include <atomic>

namespace heaplab {

template <class T>
class atomic {
public:
  using value_type = T;
  static constexpr bool is_always_lock_free = std::atomic<T>::is_always_lock_free;

  constexpr atomic() noexcept = default;
  // No atomic operation: no other thread knows the object before the constructor has ended.
  constexpr atomic(T value) noexcept : value_(value) {}
  atomic(const atomic&) = delete;
  atomic& operator=(const atomic&) = delete;

  T load(std::memory_order order) const { return value_.load(order); }
  void store(T value, std::memory_order order) { value_.store(value, order); }
  T exchange(T value, std::memory_order order) { return value_.exchange(value, order); }
  T fetch_add(T value, std::memory_order order) { return value_.fetch_add(value, order); }
  T fetch_sub(T value, std::memory_order order) { return value_.fetch_sub(value, order); }
  T fetch_or(T value, std::memory_order order) { return value_.fetch_or(value, order); }

  // On failure `expected` becomes the present value.
  bool compare_exchange_strong(T& expected, T wanted, std::memory_order success, std::memory_order failure) {
    return value_.compare_exchange_strong(expected, wanted, success, failure);
  }
  bool compare_exchange_weak(T& expected, T wanted, std::memory_order success, std::memory_order failure) {
    return value_.compare_exchange_weak(expected, wanted, success, failure);
  }

private:
  std::atomic<T> value_{};
};

// Atomic access to an object of an ordinary type. The object must outlive the reference.
template <class T>
class atomic_ref {
public:
  explicit atomic_ref(T& object) : value_(object) {}
  atomic_ref(const atomic_ref&) = default;
  atomic_ref& operator=(const atomic_ref&) = delete;

  T load(std::memory_order order) const { return value_.load(order); }
  void store(T value, std::memory_order order) const { value_.store(value, order); }
  bool compare_exchange_strong(T& expected, T wanted, std::memory_order success,
                               std::memory_order failure) const {
    return value_.compare_exchange_strong(expected, wanted, success, failure);
  }

private:
  std::atomic_ref<T> value_;
};

}  // namespace heaplab
