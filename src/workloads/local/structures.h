// The data structures DS1 to DS12 (P0089, table 2), for each way to reach the source.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/bits.h"
#include "workloads/local/strategy.h"
#include "workloads/local/texts.h"

namespace heaplab::strategies {

// Leaves in each element of DS5 to DS12.
inline constexpr std::uint64_t inner_count = 128;

// Hash functions that are not noexcept: the library then stores the hash in the node, as for std::string.
struct text_hash {
  template <class Text>
  std::size_t operator()(const Text& text) const {
    return std::hash<std::string_view>()(text);
  }
};

// The hash of a nested container is the next value of a counter, as in the program of P0213: all nested
// containers differ, and are found only by walking. Neither their contents nor their addresses matter; an
// address would depend on the strategy.
struct counting_hash {
  static inline std::size_t count = 0;

  template <class T>
  std::size_t operator()(const T&) const {
    return count++;
  }
};

struct same_object {
  template <class T>
  bool operator()(const T& left, const T& right) const {
    return &left == &right;
  }
};

template <class Handle>
struct containers {
  template <class T>
  using flat = typename allocators<Handle>::template flat<T>;
  template <class T>
  using nesting = typename allocators<Handle>::template nesting<T>;

  using number = int;
  using text = std::basic_string<char, std::char_traits<char>, flat<char>>;

  template <class T>
  using vector = std::vector<T, std::conditional_t<std::is_same_v<T, number>, flat<T>, nesting<T>>>;

  using number_set = std::unordered_set<number, std::hash<number>, std::equal_to<number>, flat<number>>;
  using text_set = std::unordered_set<text, text_hash, std::equal_to<text>, nesting<text>>;
  template <class T>
  using set_of = std::unordered_set<T, counting_hash, same_object, nesting<T>>;
};

template <class T>
inline constexpr bool is_number = std::is_same_v<T, int>;
template <class T>
concept text_like = requires(const T& text) { text.c_str(); };
template <class T>
concept leaf = is_number<T> || text_like<T>;
template <class T>
concept set_like = requires { typename T::hasher; };

// Adds an element constructed from `arguments` to a vector or set.
template <class Container, class... Arguments>
void put(Container& into, Arguments&&... arguments) {
  if constexpr (set_like<Container>) {
    into.emplace(std::forward<Arguments>(arguments)...);
  } else {
    into.emplace_back(std::forward<Arguments>(arguments)...);
  }
}

// Reserves room in an empty container and fills it with `count` leaves, numbered from `first`.
template <class Container>
void fill_flat(Container& into, std::uint64_t count, std::uint64_t first, const texts& from) {
  into.reserve(count);
  for (std::uint64_t i = 0; i < count; ++i) {
    if constexpr (is_number<typename Container::value_type>) {
      put(into, static_cast<int>(i));
    } else {
      const std::string_view text = from[first + i];
      put(into, text.data(), text.size());
    }
  }
}

// Steps 2 and 3 of Benchmark I: reserves room for `count` elements and adds them; each nested element gets
// `inner_count` leaves. Not inlined, so that the compiler does not see who owns the memory.
template <class Container>
[[gnu::noinline]] void fill(Container& into, std::uint64_t count, const texts& from) {
  using element = typename Container::value_type;
  if constexpr (leaf<element>) {
    fill_flat(into, count, 0, from);
  } else {
    into.reserve(count);
    for (std::uint64_t i = 0; i < count; ++i) {
      if constexpr (set_like<Container>) {
        element made(into.get_allocator());
        fill_flat(made, inner_count, i * inner_count, from);
        into.emplace(std::move(made));
      } else {
        into.emplace_back();
        fill_flat(into.back(), inner_count, i * inner_count, from);
      }
    }
  }
  clobber();
}

// A summary of the contents of a structure, independent of their order.
struct contents {
  std::uint64_t leaves = 0;
  std::uint64_t sum = 0;  // sum of the digests of all leaves
  bool aligned = true;    // whether all arrays are aligned
  bool counted = true;    // whether every container holds as many elements as it reports

  friend bool operator==(const contents&, const contents&) = default;

  void add(int number) {
    ++leaves;
    sum += (static_cast<std::uint64_t>(number) + 1) * 0x9e3779b97f4a7c15U;
  }
  void add(std::string_view text) {
    ++leaves;
    sum += std::hash<std::string_view>()(text);
  }
  void add_array(const void* start, std::size_t alignment) {
    aligned = aligned && is_aligned(start, alignment);
  }
};

// Walks through the whole structure, but no further than the reported sizes, so that the walk through a
// broken container ends too. Arrays from the global allocator must be aligned to `alignment`.
template <class T>
void read(const T& from, std::size_t alignment, contents& into) {
  if constexpr (is_number<T>) {
    into.add(from);
  } else if constexpr (text_like<T>) {
    into.add_array(from.data(), alignment);
    into.add(std::string_view(from));
  } else {
    if constexpr (!set_like<T>)
      into.add_array(from.data(), std::max(alignment, alignof(typename T::value_type)));
    auto at = from.begin();
    std::size_t left = from.size();
    for (; left > 0 && at != from.end(); --left, ++at) read(*at, alignment, into);
    into.counted = into.counted && left == 0 && at == from.end();
  }
}

// The contents after fill.
template <class Container>
contents expected_contents(std::uint64_t count, const texts& from) {
  contents all;
  if constexpr (leaf<typename Container::value_type>) {
    for (std::uint64_t i = 0; i < count; ++i) {
      if constexpr (is_number<typename Container::value_type>) {
        all.add(static_cast<int>(i));
      } else {
        all.add(from[i]);
      }
    }
  } else {
    for (std::uint64_t i = 0; i < count * inner_count; ++i) {
      if constexpr (is_number<typename Container::value_type::value_type>) {
        all.add(static_cast<int>(i % inner_count));
      } else {
        all.add(from[i]);
      }
    }
  }
  return all;
}

}  // namespace heaplab::strategies
