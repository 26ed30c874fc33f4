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
  static_assert(requires(Atomic& it) {
    it.load(relaxed);
    it.store(1, relaxed);
    it.exchange(1, relaxed);
    it.fetch_add(1, relaxed);
    it.fetch_sub(1, relaxed);
    it.fetch_or(1, relaxed);
  });
  static_assert(!requires(Atomic& it) { it.load(); });
  static_assert(!requires(Atomic& it) { it.store(1); });
  static_assert(!requires(Atomic& it) { it.exchange(1); });
  static_assert(!requires(Atomic& it) { it.fetch_add(1); });
  static_assert(!requires(Atomic& it) { it.fetch_sub(1); });
  static_assert(!requires(Atomic& it) { it.fetch_or(1); });
  static_assert(!requires(Atomic& it, int old) { it.compare_exchange_weak(old, 1); });
  static_assert(!requires(Atomic& it, int old) { it.compare_exchange_strong(old, 1); });
  static_assert(!requires(Atomic& it, int old) { it.compare_exchange_weak(old, 1, relaxed); });
  static_assert(!requires(Atomic& it, int old) { it.compare_exchange_strong(old, 1, relaxed); });
  static_assert(!requires(Atomic& it) { it = 1; });
  static_assert(!requires(Atomic& it) { ++it; });
  static_assert(!requires(Atomic& it) { it++; });
  static_assert(!requires(Atomic& it) { --it; });
  static_assert(!requires(Atomic& it) { it += 1; });
  static_assert(!requires(Atomic& it) { it -= 1; });
  static_assert(!requires(Atomic& it) { it |= 1; });
  static_assert(!requires(Atomic& it) { it == 1; });
  static_assert(!std::is_convertible_v<Atomic, int>);
  static_assert(!std::is_copy_constructible_v<Atomic>);
  return true;
}
static_assert(refuses_what_names_no_order<atomic<int>>());

template <class Reference>
constexpr bool refuses_what_names_no_order_by_reference() {
  static_assert(requires(const Reference it) {
    it.load(relaxed);
    it.store(1, relaxed);
  });
  static_assert(!requires(const Reference it) { it.load(); });
  static_assert(!requires(const Reference it) { it.store(1); });
  static_assert(!requires(const Reference it) { it = 1; });
  static_assert(!requires(const Reference it) { ++it; });
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
  atomic<int> it = 1;
  it.store(2, relaxed);
  EXPECT_EQ(it.exchange(12, relaxed), 2);
  EXPECT_EQ(it.fetch_add(8, relaxed), 12);
  EXPECT_EQ(it.fetch_sub(16, relaxed), 20);
  EXPECT_EQ(it.fetch_or(3, relaxed), 4);
  EXPECT_EQ(it.load(relaxed), 7);
}

TEST(atomic, exchanges_only_what_is_expected) {
  atomic<int> it = 5;
  int expected = 4;
  EXPECT_FALSE(it.compare_exchange_strong(expected, 9, relaxed, relaxed));
  EXPECT_EQ(expected, 5);
  EXPECT_FALSE(it.compare_exchange_weak(expected = 4, 9, relaxed, relaxed));
  EXPECT_EQ(expected, 5);
  EXPECT_TRUE(it.compare_exchange_strong(expected, 9, relaxed, relaxed));
  while (!it.compare_exchange_weak(expected = 9, 10, relaxed, relaxed)) {
  }
  EXPECT_EQ(it.load(relaxed), 10);
}

TEST(atomic, ref_works_on_the_object_it_refers_to) {
  int object = 1;
  const atomic_ref<int> it(object);
  EXPECT_EQ(it.load(relaxed), 1);
  it.store(2, relaxed);
  EXPECT_EQ(object, 2);
}

}  // namespace
}  // namespace heaplab
