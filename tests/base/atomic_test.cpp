#include "base/atomic.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <type_traits>

namespace heaplab {
namespace {

constexpr auto relaxed = std::memory_order_relaxed;

// Every operation of std::atomic that names no order; and that the same type accepts it with one.
template <class Atomic>
constexpr bool refuses_what_names_no_order() {
  static_assert(requires(Atomic& value) {
    value.load(relaxed);
    value.store(1, relaxed);
    value.exchange(1, relaxed);
    value.fetch_add(1, relaxed);
    value.fetch_sub(1, relaxed);
    value.fetch_or(1, relaxed);
  });
  static_assert(!requires(Atomic& value) { value.load(); });
  static_assert(!requires(Atomic& value) { value.store(1); });
  static_assert(!requires(Atomic& value) { value.exchange(1); });
  static_assert(!requires(Atomic& value) { value.fetch_add(1); });
  static_assert(!requires(Atomic& value) { value.fetch_sub(1); });
  static_assert(!requires(Atomic& value) { value.fetch_or(1); });
  static_assert(!requires(Atomic& value, int old) { value.compare_exchange_weak(old, 1); });
  static_assert(!requires(Atomic& value, int old) { value.compare_exchange_strong(old, 1); });
  static_assert(!requires(Atomic& value, int old) { value.compare_exchange_weak(old, 1, relaxed); });
  static_assert(!requires(Atomic& value, int old) { value.compare_exchange_strong(old, 1, relaxed); });
  static_assert(!requires(Atomic& value) { value = 1; });
  static_assert(!requires(Atomic& value) { ++value; });
  static_assert(!requires(Atomic& value) { value++; });
  static_assert(!requires(Atomic& value) { --value; });
  static_assert(!requires(Atomic& value) { value += 1; });
  static_assert(!requires(Atomic& value) { value -= 1; });
  static_assert(!requires(Atomic& value) { value |= 1; });
  static_assert(!requires(Atomic& value) { value == 1; });
  static_assert(!std::is_convertible_v<Atomic, int>);
  static_assert(!std::is_copy_constructible_v<Atomic>);
  return true;
}
static_assert(refuses_what_names_no_order<atomic<int>>());

template <class Reference>
constexpr bool refuses_what_names_no_order_by_reference() {
  static_assert(requires(const Reference value) {
    value.load(relaxed);
    value.store(1, relaxed);
  });
  static_assert(!requires(const Reference value) { value.load(); });
  static_assert(!requires(const Reference value) { value.store(1); });
  static_assert(!requires(const Reference value) { value = 1; });
  static_assert(!requires(const Reference value) { ++value; });
  static_assert(!std::is_convertible_v<Reference, int>);
  return true;
}
static_assert(refuses_what_names_no_order_by_reference<atomic_ref<int>>());

// Code that works on the value by one instruction (owned_counter.h, relaxed_compare.h) relies on it.
static_assert(sizeof(atomic<std::int32_t>) == sizeof(std::int32_t));
static_assert(sizeof(atomic<std::uintptr_t>) == sizeof(std::uintptr_t));

TEST(atomic, starts_with_its_value) {
  EXPECT_EQ(atomic<int>{}.load(relaxed), 0);
  EXPECT_EQ(atomic<int>{7}.load(relaxed), 7);
}

TEST(atomic, does_what_is_asked_and_returns_what_was_there) {
  atomic<int> value = 1;
  value.store(2, relaxed);
  EXPECT_EQ(value.exchange(12, relaxed), 2);
  EXPECT_EQ(value.fetch_add(8, relaxed), 12);
  EXPECT_EQ(value.fetch_sub(16, relaxed), 20);
  EXPECT_EQ(value.fetch_or(3, relaxed), 4);
  EXPECT_EQ(value.load(relaxed), 7);
}

TEST(atomic, exchanges_only_what_is_expected) {
  atomic<int> value = 5;
  int expected = 4;
  EXPECT_FALSE(value.compare_exchange_strong(expected, 9, relaxed, relaxed));
  EXPECT_EQ(expected, 5);
  EXPECT_FALSE(value.compare_exchange_weak(expected = 4, 9, relaxed, relaxed));
  EXPECT_EQ(expected, 5);
  EXPECT_TRUE(value.compare_exchange_strong(expected, 9, relaxed, relaxed));
  while (!value.compare_exchange_weak(expected = 9, 10, relaxed, relaxed)) {
  }
  EXPECT_EQ(value.load(relaxed), 10);
}

TEST(atomic, ref_works_on_the_object_it_refers_to) {
  int object = 1;
  const atomic_ref<int> value(object);
  EXPECT_EQ(value.load(relaxed), 1);
  value.store(2, relaxed);
  EXPECT_EQ(object, 2);
}

}  // namespace
}  // namespace heaplab
