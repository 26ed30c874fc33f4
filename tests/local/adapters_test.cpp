// The two adapters in every standard container.
#include <gtest/gtest.h>

#include <cstddef>
#include <deque>
#include <forward_list>
#include <functional>
#include <limits>
#include <list>
#include <map>
#include <memory_resource>
#include <scoped_allocator>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "heaplab/local/local.h"

namespace heaplab::local {
namespace {

template <class T>
using in_arena = allocator<T, monotonic<counting<>>>;
template <class T>
using in_pools = allocator<T, multipool<counting<>>>;
template <class T>
using in_both = allocator<T, multipool_over_monotonic<counting<>>>;

template <class Allocator>
class adapters_test : public testing::Test {
protected:
  template <class T>
  using rebound = typename std::allocator_traits<Allocator>::template rebind_alloc<T>;

  counting<> upstream_;
  std::remove_pointer_t<decltype(std::declval<Allocator>().source())> source_{{}, upstream_};
};

using kinds = testing::Types<in_arena<int>, in_pools<int>, in_both<int>>;
TYPED_TEST_SUITE(adapters_test, kinds);

// Fills, erases, copies, moves and swaps.
template <class Container, class Insert>
void exercise(Container container, Insert insert) {
  for (int i = 0; i < 1000; ++i) insert(container, i);
  Container copy(container);
  EXPECT_EQ(copy, container);
  EXPECT_EQ(copy.get_allocator(), container.get_allocator());
  Container moved(std::move(copy));
  EXPECT_EQ(moved, container);
  container.clear();
  swap(container, moved);
  EXPECT_TRUE(moved.empty());
  moved = container;
  EXPECT_EQ(moved, container);
  moved = std::move(container);
  EXPECT_EQ(std::distance(moved.begin(), moved.end()), 1000);
}

TYPED_TEST(adapters_test, sequences) {
  using numbers = typename TestFixture::template rebound<int>;
  const auto back = [](auto& c, int i) { c.push_back(i); };
  exercise(std::vector<int, numbers>(this->source_), back);
  exercise(std::deque<int, numbers>(this->source_), back);
  exercise(std::list<int, numbers>(this->source_), back);
  exercise(std::forward_list<int, numbers>(this->source_), [](auto& c, int i) { c.push_front(i); });
  exercise(std::vector<bool, typename TestFixture::template rebound<bool>>(this->source_), back);
  exercise(
      std::basic_string<wchar_t, std::char_traits<wchar_t>, typename TestFixture::template rebound<wchar_t>>(
          this->source_),
      back);
  EXPECT_GT(this->upstream_.counts().allocations, 0);
}

TYPED_TEST(adapters_test, associative_containers) {
  using numbers = typename TestFixture::template rebound<int>;
  using pair = typename TestFixture::template rebound<std::pair<const int, int>>;
  const auto key = [](auto& c, int i) { c.insert(i); };
  const auto both = [](auto& c, int i) { c.insert({i, i}); };
  exercise(std::set<int, std::less<>, numbers>(this->source_), key);
  exercise(std::multiset<int, std::less<>, numbers>(this->source_), key);
  exercise(std::map<int, int, std::less<>, pair>(this->source_), both);
  exercise(std::multimap<int, int, std::less<>, pair>(this->source_), both);
  exercise(std::unordered_set<int, std::hash<int>, std::equal_to<>, numbers>(this->source_), key);
  exercise(std::unordered_multiset<int, std::hash<int>, std::equal_to<>, numbers>(this->source_), key);
  exercise(std::unordered_map<int, int, std::hash<int>, std::equal_to<>, pair>(this->source_), both);
  exercise(std::unordered_multimap<int, int, std::hash<int>, std::equal_to<>, pair>(this->source_), both);
}

TYPED_TEST(adapters_test, a_scoped_adaptor_hands_the_source_to_the_elements) {
  using text = std::basic_string<char, std::char_traits<char>, typename TestFixture::template rebound<char>>;
  using scoped = std::scoped_allocator_adaptor<typename TestFixture::template rebound<text>>;
  std::vector<text, scoped> texts(scoped(this->source_));
  texts.emplace_back(100, 'x');
  texts.resize(10);
  for (const text& each : texts) EXPECT_EQ(each.get_allocator().source(), &this->source_);
}

TEST(adapters, typed_allocator_copies_are_equal_and_other_sources_are_not) {
  multipool<> pool;
  multipool<> other;
  const allocator<int, multipool<>> first(pool);
  const allocator<char, multipool<>> copy(first);
  EXPECT_TRUE(first == copy);
  EXPECT_FALSE(first == (allocator<char, multipool<>>(other)));
}

TEST(adapters, typed_allocator_assignment_leaves_each_container_its_source) {
  multipool<> pool;
  multipool<> other;
  using numbers = std::vector<int, allocator<int, multipool<>>>;
  numbers first(100, 1, pool);
  numbers second(other);
  second = first;
  EXPECT_EQ(second.get_allocator().source(), &other);
  second = std::move(first);
  EXPECT_EQ(second.get_allocator().source(), &other);
  EXPECT_EQ(second, numbers(100, 1, pool));
}

TEST(adapters, typed_allocator_without_state_needs_no_argument) {
  std::vector<int, allocator<int, new_delete>> numbers(100);
  static_assert(std::allocator_traits<allocator<int, new_delete>>::is_always_equal::value);
  static_assert(!std::is_default_constructible_v<allocator<int, multipool<>>>);
  EXPECT_EQ(numbers.size(), 100);
}

TEST(adapters, typed_allocator_more_values_than_the_address_space_holds_are_refused) {
  multipool<> source;
  allocator<int, multipool<>> some(source);
  EXPECT_THROW((void)some.allocate(std::numeric_limits<std::size_t>::max() / 2), std::bad_array_new_length);
}

TEST(adapters, memory_resources_stand_for_the_abstract_base) {
  counting_resource upstream;
  multipool_over_monotonic_resource pools({}, upstream);
  std::pmr::map<int, std::pmr::string> names(&pools);
  for (int i = 0; i < 1000; ++i) names.emplace(i, std::string(100, 'x'));
  EXPECT_EQ(names.at(7).get_allocator().resource(), &pools);
  EXPECT_GT(upstream.counts().live_bytes, 100000);
}

TEST(adapters, memory_resources_have_the_default_resource_upstream) {
  counting_resource upstream;
  std::pmr::memory_resource* before = std::pmr::set_default_resource(&upstream);
  monotonic_resource arena;
  (void)arena.allocate(10);
  std::pmr::set_default_resource(before);
  EXPECT_EQ(upstream.counts().allocations, 1);
}

TEST(adapters, memory_resources_are_equal_only_to_themselves_unless_without_state) {
  monotonic_resource monotonic;
  monotonic_resource other;
  EXPECT_TRUE(monotonic.is_equal(monotonic));
  EXPECT_FALSE(monotonic.is_equal(other));
  new_delete_resource first;
  new_delete_resource second;
  EXPECT_TRUE(first.is_equal(second));
  EXPECT_FALSE(first.is_equal(monotonic));
}

TEST(adapters, memory_resources_release_what_they_manage) {
  counting_resource upstream;
  multipool_resource pools({}, upstream);
  (void)pools.allocate(10);
  pools.release();
  EXPECT_EQ(upstream.counts().live_bytes, 0);
  static_assert(!managed_source<new_delete_resource>);
}

}  // namespace
}  // namespace heaplab::local
