// Winking out: an object that is never destroyed, its memory taken back with its allocator's (P0089,
// section 3).
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <deque>
#include <forward_list>
#include <list>
#include <map>
#include <memory>
#include <memory_resource>
#include <optional>
#include <scoped_allocator>
#include <set>
#include <string>
#include <tuple>
#include <type_traits>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <variant>
#include <vector>

#include "heaplab/local/allocator.h"
#include "heaplab/local/source.h"

namespace heaplab::local {

// Which source an allocator gets its memory from: the static type, the abstract base, or unknown (void).
template <class Allocator>
struct source_behind {
  using type = void;
};
template <class Value, class Source>
struct source_behind<allocator<Value, Source>> {
  using type = Source;
};
template <class Value>
struct source_behind<std::pmr::polymorphic_allocator<Value>> {
  using type = std::pmr::memory_resource;
};
template <class Allocator>
struct source_behind<std::scoped_allocator_adaptor<Allocator>> : source_behind<Allocator> {};

// Whether all that the allocator of an object gets comes back with a managed source. The abstract base does
// not say so itself: the object must have been given its resource by `Source`, what it is made in.
template <class Allocator, class Source, class Behind = typename source_behind<Allocator>::type>
inline constexpr bool allocates_managed = managed_source<Behind>;
template <class Allocator, class Source>
inline constexpr bool allocates_managed<Allocator, Source, std::pmr::memory_resource> =
    std::derived_from<Source, std::pmr::memory_resource>;

// Whether nothing is lost but memory of a managed source when a T made in `Source` is not destroyed. Known
// for types without a destructor of their own and for those of the standard library made of such. Specialise
// it for a type of yours to vouch for it.
template <class T, class Source>
inline constexpr bool winks_out = std::is_trivially_destructible_v<T>;
template <class T, class Source>
inline constexpr bool winks_out<const T, Source> = winks_out<T, Source>;

// Whether a container with this allocator, what it holds and the functions it keeps all wink out.
template <class Source, class Allocator, class... Parts>
inline constexpr bool parts_wink_out = allocates_managed<Allocator, Source> &&
                                       (winks_out<Parts, typename source_behind<Allocator>::type> && ...);

// These pass an allocator on to their parts.
template <class T, class U, class Source>
inline constexpr bool winks_out<std::pair<T, U>, Source> = winks_out<T, Source> && winks_out<U, Source>;
template <class... T, class Source>
inline constexpr bool winks_out<std::tuple<T...>, Source> = (winks_out<T, Source> && ...);

// These do not.
template <class T, std::size_t Size, class Source>
inline constexpr bool winks_out<std::array<T, Size>, Source> = winks_out<T, void>;
template <class T, class Source>
inline constexpr bool winks_out<std::optional<T>, Source> = winks_out<T, void>;
template <class... T, class Source>
inline constexpr bool winks_out<std::variant<T...>, Source> = (winks_out<T, void> && ...);

template <class T, class Traits, class Allocator, class Source>
inline constexpr bool winks_out<std::basic_string<T, Traits, Allocator>, Source> =
    parts_wink_out<Source, Allocator, T>;
template <class T, class Allocator, class Source>
inline constexpr bool winks_out<std::vector<T, Allocator>, Source> = parts_wink_out<Source, Allocator, T>;
template <class T, class Allocator, class Source>
inline constexpr bool winks_out<std::deque<T, Allocator>, Source> = parts_wink_out<Source, Allocator, T>;
template <class T, class Allocator, class Source>
inline constexpr bool winks_out<std::list<T, Allocator>, Source> = parts_wink_out<Source, Allocator, T>;
template <class T, class Allocator, class Source>
inline constexpr bool winks_out<std::forward_list<T, Allocator>, Source> =
    parts_wink_out<Source, Allocator, T>;
template <class T, class Less, class Allocator, class Source>
inline constexpr bool winks_out<std::set<T, Less, Allocator>, Source> =
    parts_wink_out<Source, Allocator, T, Less>;
template <class T, class Less, class Allocator, class Source>
inline constexpr bool winks_out<std::multiset<T, Less, Allocator>, Source> =
    parts_wink_out<Source, Allocator, T, Less>;
template <class T, class U, class Less, class Allocator, class Source>
inline constexpr bool winks_out<std::map<T, U, Less, Allocator>, Source> =
    parts_wink_out<Source, Allocator, T, U, Less>;
template <class T, class U, class Less, class Allocator, class Source>
inline constexpr bool winks_out<std::multimap<T, U, Less, Allocator>, Source> =
    parts_wink_out<Source, Allocator, T, U, Less>;
template <class T, class Hash, class Equal, class Allocator, class Source>
inline constexpr bool winks_out<std::unordered_set<T, Hash, Equal, Allocator>, Source> =
    parts_wink_out<Source, Allocator, T, Hash, Equal>;
template <class T, class Hash, class Equal, class Allocator, class Source>
inline constexpr bool winks_out<std::unordered_multiset<T, Hash, Equal, Allocator>, Source> =
    parts_wink_out<Source, Allocator, T, Hash, Equal>;
template <class T, class U, class Hash, class Equal, class Allocator, class Source>
inline constexpr bool winks_out<std::unordered_map<T, U, Hash, Equal, Allocator>, Source> =
    parts_wink_out<Source, Allocator, T, U, Hash, Equal>;
template <class T, class U, class Hash, class Equal, class Allocator, class Source>
inline constexpr bool winks_out<std::unordered_multimap<T, U, Hash, Equal, Allocator>, Source> =
    parts_wink_out<Source, Allocator, T, U, Hash, Equal>;

// Says that the caller knows what he leaves undone.
struct wink_anyway_t {};
inline constexpr wink_anyway_t wink_anyway;

// The allocator that an object inside `source` is to use: the typed one, or the abstract base's.
template <managed_source Source>
auto allocator_for(Source& source) {
  if constexpr (std::derived_from<Source, std::pmr::memory_resource>) {
    return std::pmr::polymorphic_allocator<>(&source);
  } else {
    return allocator<std::byte, Source>(source);
  }
}

// Makes a T from `arguments` in memory of `source`, with `source` as its allocator if it takes one, and
// abandons it: it lives until source.release() and its destructor never runs. Throws what the source and the
// constructor throw. The behavior is undefined if the T is used after the release. What its destructor would
// have done is left undone.
template <class T, managed_source Source, class... Arguments>
T& make_winked(wink_anyway_t, Source& source, Arguments&&... arguments) {
  void* block = source.allocate(sizeof(T), alignof(T));
  try {
    return *std::uninitialized_construct_using_allocator(static_cast<T*>(block), allocator_for(source),
                                                         std::forward<Arguments>(arguments)...);
  } catch (...) {
    source.deallocate(block, sizeof(T), alignof(T));
    throw;
  }
}

// As above. Refused unless the destructor of a T is known to do nothing but give back memory of the source.
template <class T, managed_source Source, class... Arguments>
  requires winks_out<T, Source>
T& make_winked(Source& source, Arguments&&... arguments) {
  return make_winked<T>(wink_anyway, source, std::forward<Arguments>(arguments)...);
}

}  // namespace heaplab::local
