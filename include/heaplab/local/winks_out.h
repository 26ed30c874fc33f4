// Which types wink out: an object of such a type need not be destroyed, because its destructor does nothing
// but deallocate memory of a source that reclaims all its memory anyway (P0089, section 3).
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <deque>
#include <forward_list>
#include <list>
#include <map>
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

// The source behind an allocator: its static type, the abstract base, or void where the source is unknown.
template <class Allocator>
struct source_behind {
  using type = void;
};
template <class Value, class Source>
struct source_behind<allocator<Value, Source>> {
  using type = Source;
};
// The object gets this one from whoever makes it, with any resource: make_winked passes std::pmr's own.
template <class Value>
struct source_behind<allocator<Value, std::pmr::memory_resource>> {
  using type = void;
};
template <class Value>
struct source_behind<std::pmr::polymorphic_allocator<Value>> {
  using type = std::pmr::memory_resource;
};
template <class Allocator>
struct source_behind<std::scoped_allocator_adaptor<Allocator>> : source_behind<Allocator> {};

// Whether a managed source reclaims all memory of an object's allocator. The abstract base is a type that
// does not tell: the object must then have got its resource from `Source`, the source in which the object is
// made.
template <class Allocator, class Source, class Behind = typename source_behind<Allocator>::type>
inline constexpr bool allocates_managed = managed_source<Behind>;
template <class Allocator, class Source>
inline constexpr bool allocates_managed<Allocator, Source, std::pmr::memory_resource> =
    std::derived_from<Source, std::pmr::memory_resource>;

// The source in which the parts of a container are made, where the container's allocator is bound to the type
// `Behind`. An allocator that is bound to a memory resource by its type is none that a type of std::pmr
// takes: such a part gets its memory from the default resource.
template <class Behind>
using source_of_parts = std::conditional_t<std::derived_from<Behind, std::pmr::memory_resource> &&
                                               !std::same_as<Behind, std::pmr::memory_resource>,
                                           void, Behind>;

// Holds the type that must be destroyed when made in `Source`; void where every type may stay undestroyed.
template <class T, class Source = void>
struct refusal {
  using type = T;
  using source = Source;
};

// The innermost type because of which a T made in `Source` does not wink out, as a `refusal`. By default that
// type is T itself; the specialisations below are for types of the standard library that consist of parts.
template <class T, class Source>
struct refused_part : refusal<T, Source> {};

// Whether a T made in `Source` may stay undestroyed because nothing but memory of a managed source is lost.
// True for types with a trivial destructor and for types of the standard library composed of such types.
// Specialise this variable for your own type to vouch for that type.
template <class T, class Source>
inline constexpr bool winks_out =
    std::is_trivially_destructible_v<T> || std::is_void_v<typename refused_part<T, Source>::type>;
template <class T, class Source>
inline constexpr bool winks_out<const T, Source> = winks_out<T, Source>;

// The refusal of the first part that does not wink out.
template <class Source, class... Parts>
struct first_refused : refusal<void> {};
template <class Source, class First, class... Rest>
struct first_refused<Source, First, Rest...>
    : std::conditional_t<winks_out<First, Source>, first_refused<Source, Rest...>,
                         refused_part<First, Source>> {};

// The refusal of a container: because of its own memory, of its elements, or of the function objects it
// keeps.
template <class Container, class Source, class Allocator, class... Parts>
struct refused_in_container
    : std::conditional_t<allocates_managed<Allocator, Source>,
                         first_refused<source_of_parts<typename source_behind<Allocator>::type>, Parts...>,
                         refusal<Container, Source>> {};

template <class T, class Source>
struct refused_part<const T, Source> : refused_part<T, Source> {};

// Types that pass an allocator on to their parts.
template <class T, class U, class Source>
struct refused_part<std::pair<T, U>, Source> : first_refused<Source, T, U> {};
template <class... T, class Source>
struct refused_part<std::tuple<T...>, Source> : first_refused<Source, T...> {};

// Types that do not.
template <class T, std::size_t Size, class Source>
struct refused_part<std::array<T, Size>, Source> : first_refused<void, T> {};
template <class T, class Source>
struct refused_part<std::optional<T>, Source> : first_refused<void, T> {};
template <class... T, class Source>
struct refused_part<std::variant<T...>, Source> : first_refused<void, T...> {};

template <class T, class Traits, class Allocator, class Source>
struct refused_part<std::basic_string<T, Traits, Allocator>, Source>
    : refused_in_container<std::basic_string<T, Traits, Allocator>, Source, Allocator, T> {};
template <class T, class Allocator, class Source>
struct refused_part<std::vector<T, Allocator>, Source>
    : refused_in_container<std::vector<T, Allocator>, Source, Allocator, T> {};
template <class T, class Allocator, class Source>
struct refused_part<std::deque<T, Allocator>, Source>
    : refused_in_container<std::deque<T, Allocator>, Source, Allocator, T> {};
template <class T, class Allocator, class Source>
struct refused_part<std::list<T, Allocator>, Source>
    : refused_in_container<std::list<T, Allocator>, Source, Allocator, T> {};
template <class T, class Allocator, class Source>
struct refused_part<std::forward_list<T, Allocator>, Source>
    : refused_in_container<std::forward_list<T, Allocator>, Source, Allocator, T> {};
template <class T, class Less, class Allocator, class Source>
struct refused_part<std::set<T, Less, Allocator>, Source>
    : refused_in_container<std::set<T, Less, Allocator>, Source, Allocator, T, Less> {};
template <class T, class Less, class Allocator, class Source>
struct refused_part<std::multiset<T, Less, Allocator>, Source>
    : refused_in_container<std::multiset<T, Less, Allocator>, Source, Allocator, T, Less> {};
template <class T, class U, class Less, class Allocator, class Source>
struct refused_part<std::map<T, U, Less, Allocator>, Source>
    : refused_in_container<std::map<T, U, Less, Allocator>, Source, Allocator, T, U, Less> {};
template <class T, class U, class Less, class Allocator, class Source>
struct refused_part<std::multimap<T, U, Less, Allocator>, Source>
    : refused_in_container<std::multimap<T, U, Less, Allocator>, Source, Allocator, T, U, Less> {};
template <class T, class Hash, class Equal, class Allocator, class Source>
struct refused_part<std::unordered_set<T, Hash, Equal, Allocator>, Source>
    : refused_in_container<std::unordered_set<T, Hash, Equal, Allocator>, Source, Allocator, T, Hash, Equal> {
};
template <class T, class Hash, class Equal, class Allocator, class Source>
struct refused_part<std::unordered_multiset<T, Hash, Equal, Allocator>, Source>
    : refused_in_container<std::unordered_multiset<T, Hash, Equal, Allocator>, Source, Allocator, T, Hash,
                           Equal> {};
template <class T, class U, class Hash, class Equal, class Allocator, class Source>
struct refused_part<std::unordered_map<T, U, Hash, Equal, Allocator>, Source>
    : refused_in_container<std::unordered_map<T, U, Hash, Equal, Allocator>, Source, Allocator, T, U, Hash,
                           Equal> {};
template <class T, class U, class Hash, class Equal, class Allocator, class Source>
struct refused_part<std::unordered_multimap<T, U, Hash, Equal, Allocator>, Source>
    : refused_in_container<std::unordered_multimap<T, U, Hash, Equal, Allocator>, Source, Allocator, T, U,
                           Hash, Equal> {};

}  // namespace heaplab::local
