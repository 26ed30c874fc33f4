#include "heaplab/local/wink.h"

#include <gtest/gtest.h>

#include <memory>
#include <memory_resource>
#include <scoped_allocator>
#include <stdexcept>
#include <string>
#include <vector>

#include "heaplab/local/local.h"

namespace heaplab::local {

// A type that its author vouches for.
struct vouched {
  ~vouched() {}
};
template <class Source>
inline constexpr bool winks_out<vouched, Source> = true;

namespace {

using pools = multipool<counting<>>;
using pools_resource = resource<pools>;
template <class T>
using in_pools = allocator<T, pools>;
template <class T>
using scoped = std::scoped_allocator_adaptor<in_pools<T>>;
template <class T>
using in_resource = allocator<T, pools_resource>;
template <class T>
using scoped_in_resource = std::scoped_allocator_adaptor<in_resource<T>>;
template <class T>
using scoped_in_abstract = std::scoped_allocator_adaptor<std::pmr::polymorphic_allocator<T>>;
using text = std::basic_string<char, std::char_traits<char>, in_pools<char>>;
using file = std::shared_ptr<int>;

template <class T, class Source>
concept winkable = winks_out<T, Source> && requires(Source& source) { make_winked<T>(source); };

// With the static type.
static_assert(winkable<int, pools>);
static_assert(winkable<vouched, pools>);
static_assert(winks_out<text, pools>);
static_assert(winks_out<std::vector<text, scoped<text>>, pools>);
static_assert(winks_out<std::map<int, text, std::less<>, scoped<std::pair<const int, text>>>, pools>);
static_assert(winks_out<std::unordered_set<text, std::hash<int>, std::equal_to<>, in_pools<text>>, pools>);
static_assert(winks_out<std::vector<std::optional<text>, in_pools<std::optional<text>>>, pools>);
static_assert(!winkable<file, pools>);
static_assert(!winkable<std::string, pools>);
static_assert(!winkable<std::vector<int>, pools>);
static_assert(!winks_out<std::vector<file, in_pools<file>>, pools>);
static_assert(!winks_out<std::list<std::string, in_pools<std::string>>, pools>);
static_assert(!winks_out<std::set<int, std::function<bool(int, int)>, in_pools<int>>, pools>);
static_assert(!winks_out<std::pair<int, std::string>, pools>);
static_assert(!winks_out<std::vector<int, allocator<int, new_delete>>, pools>);

// With the abstract base: only inside a resource, and only where it reaches the elements.
static_assert(winkable<std::pmr::vector<int>, pools_resource>);
static_assert(winkable<std::pmr::map<int, std::pmr::string>, pools_resource>);
static_assert(winkable<std::pmr::vector<std::tuple<int, std::pmr::string>>, pools_resource>);
static_assert(winkable<std::pmr::string, std::pmr::monotonic_buffer_resource>);
static_assert(!winkable<std::pmr::string, pools>);
static_assert(!winks_out<std::vector<std::pmr::string, in_pools<std::pmr::string>>, pools>);
static_assert(!winks_out<std::vector<std::pmr::string, in_pools<std::pmr::string>>, pools_resource>);
static_assert(!winkable<std::vector<std::pmr::string, in_resource<std::pmr::string>>, pools_resource>);
static_assert(
    !winks_out<std::vector<std::pmr::string, scoped_in_resource<std::pmr::string>>, pools_resource>);
static_assert(!winks_out<std::pmr::vector<std::vector<std::pmr::string, in_resource<std::pmr::string>>>,
                         pools_resource>);
static_assert(!winks_out<std::vector<int, allocator<int, std::pmr::memory_resource>>, pools_resource>);
static_assert(winks_out<std::vector<int, in_resource<int>>, pools_resource>);
static_assert(winks_out<std::vector<std::vector<int, in_resource<int>>,
                                    in_resource<std::vector<int, in_resource<int>>>>,
                        pools_resource>);
static_assert(winks_out<std::vector<std::pmr::string, scoped_in_abstract<std::pmr::string>>, pools_resource>);
static_assert(!winks_out<std::pmr::vector<std::optional<std::pmr::string>>, pools_resource>);
static_assert(!winks_out<std::pmr::vector<std::array<std::pmr::string, 2>>, pools_resource>);
static_assert(!winks_out<std::pmr::vector<std::string>, pools_resource>);

// Only a managed source takes anything back.
static_assert(!winkable<int, new_delete>);
static_assert(!winkable<std::pmr::vector<int>, new_delete_resource>);

// The one value of a type that may not be destroyed.
struct not_to_be_destroyed {
  ~not_to_be_destroyed() { ADD_FAILURE() << "destroyed"; }
};

TEST(wink, a_typed_container_returns_with_its_source) {
  counting<> upstream;
  pools source({}, upstream);
  auto& texts = make_winked<std::vector<text, scoped<text>>>(source);
  for (int i = 0; i < 100; ++i) texts.emplace_back(100, 'x');
  EXPECT_EQ(texts[99].get_allocator().source(), &source);
  EXPECT_GT(upstream.counts().live_bytes, 10000);
  source.release();
  EXPECT_EQ(upstream.counts().live_bytes, 0);
}

TEST(wink, a_container_of_the_abstract_base_returns_with_its_resource) {
  counting<> upstream;
  pools_resource source({}, upstream);
  auto& names = make_winked<std::pmr::map<int, std::pmr::string>>(source);
  for (int i = 0; i < 100; ++i) names.emplace(i, std::string(100, 'x'));
  EXPECT_EQ(names.at(5).get_allocator().resource(), &source);
  source.release();
  EXPECT_EQ(upstream.counts().live_bytes, 0);
}

TEST(wink, the_object_itself_lies_in_the_source) {
  counting<> upstream;
  monotonic<counting<>> source({}, upstream);
  EXPECT_EQ(make_winked<int>(source, 42), 42);
  EXPECT_EQ(upstream.counts().allocations, 1);
}

TEST(wink, a_caller_who_says_so_may_abandon_anything) {
  monotonic<> source;
  make_winked<not_to_be_destroyed>(wink_anyway, source);
  source.release();
}

TEST(wink, memory_comes_back_when_the_constructor_throws) {
  struct throwing {
    explicit throwing(int) { throw std::runtime_error("no"); }
  };
  multipool<> source;
  EXPECT_THROW(make_winked<throwing>(source, 1), std::runtime_error);
  void* next = source.allocate(sizeof(throwing), alignof(throwing));
  source.deallocate(next, sizeof(throwing), alignof(throwing));
  EXPECT_THROW(make_winked<throwing>(source, 1), std::runtime_error);
  EXPECT_EQ(source.allocate(sizeof(throwing), alignof(throwing)), next);
}

}  // namespace
}  // namespace heaplab::local
