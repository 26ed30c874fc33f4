// The allocation strategies of P0089 (section 4), composed of allocator, binding and destruction, and further
// columns composed in the same way.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <scoped_allocator>
#include <span>
#include <type_traits>

#include "heaplab/local/local.h"
#include "workloads/local/barrier.h"
#include "workloads/local/heap_arena.h"
#include "workloads/local/resources.h"

namespace heaplab::strategies {

enum class binding { type_parameter, abstract_base };
enum class ending { destroyed, winked_out };

// Constructor arguments of a source, of which each source takes those it knows: monotonic sources begin with
// the buffer.
struct source_options {
  std::span<std::byte> buffer = {};
  std::size_t first_chunk = 1024;  // in bytes, if there is no buffer
  local::growth chunk_growth = local::growth::geometric;
};

template <class Source>
Source make_source(const source_options& with) {
  const local::monotonic_options arena{.buffer = with.buffer,
                                       .first_chunk = with.buffer.empty() ? with.first_chunk : 0,
                                       .chunk_growth = with.chunk_growth};
  const local::multipool_options pools{.chunk_growth = with.chunk_growth};
  if constexpr (std::constructible_from<Source, const local::monotonic_options&>) {
    return Source(arena);
  } else if constexpr (std::constructible_from<Source, const local::multipool_over_monotonic_options&>) {
    return Source(local::multipool_over_monotonic_options{.arena = arena, .pools = pools});
  } else if constexpr (std::constructible_from<Source, const local::multipool_options&>) {
    return Source(pools);
  } else if constexpr (std::constructible_from<Source, void*, std::size_t>) {
    return with.buffer.empty() ? Source(with.first_chunk) : Source(with.buffer.data(), with.buffer.size());
  } else {
    return Source();
  }
}

// How an allocator reaches its source: by the source's type, or through the abstract base. Containers depend
// on this handle alone.
template <class Handle>
struct allocators {
  template <class T>
  using flat = local::allocator<T, Handle>;
  // For elements that allocate themselves.
  template <class T>
  using nesting = std::scoped_allocator_adaptor<flat<T>>;

  static auto of(Handle& source) { return flat<std::byte>(source); }
};

// These allocators pass themselves on to elements.
template <>
struct allocators<std::pmr::memory_resource> {
  template <class T>
  using flat = std::pmr::polymorphic_allocator<T>;
  template <class T>
  using nesting = flat<T>;

  static auto of(std::pmr::memory_resource& source) { return flat<std::byte>(&source); }
};

// The default allocators: the object code is the same as if no allocator were named.
template <>
struct allocators<local::new_delete> {
  template <class T>
  using flat = std::allocator<T>;
  template <class T>
  using nesting = flat<T>;

  static auto of(local::new_delete&) { return flat<std::byte>(); }
};

template <class Source>
inline constexpr bool takes_nothing_back = local::one_way_source<Source>;
template <>
inline constexpr bool takes_nothing_back<std::pmr::monotonic_buffer_resource> = true;
#ifdef HEAPLAB_WITH_BOOST
template <>
inline constexpr bool takes_nothing_back<boost_monotonic> = true;
#endif

template <class Source>
inline constexpr bool begins_with_buffer =
    std::constructible_from<Source, const local::monotonic_options&> ||
    std::constructible_from<Source, const local::multipool_over_monotonic_options&> ||
    std::constructible_from<Source, void*, std::size_t>;

// One column of the tables.
template <class Source, binding Bound, ending Ends>
struct strategy {
  static constexpr bool is_winked_out = Ends == ending::winked_out;
  // Every strategy that winks out has a column that destroys, except one with an arena of the general
  // allocator, which is always destroyed as a whole.
  static constexpr bool has_destroying_twin = is_winked_out && !std::same_as<Source, heap_arena>;

  // The object that owns the memory.
  using source_type = std::conditional_t<Bound == binding::type_parameter ||
                                             std::derived_from<Source, std::pmr::memory_resource>,
                                         Source, local::resource<Source>>;
  static constexpr std::uint64_t chunk_and_header = 128;

  // The part of the source that containers and callers see.
  using handle_type = std::conditional_t<Bound == binding::type_parameter, Source, std::pmr::memory_resource>;

  // Whether all blocks come from the global allocator itself.
  static constexpr bool is_global = std::same_as<Source, local::new_delete>;
  // Whether the source hands out the buffer first.
  static constexpr bool takes_buffer = begins_with_buffer<Source>;
  // Whether blocks of `bytes` are not reused before the source ends: the blocks of a monotonic allocator, and
  // blocks too large for the pools above one.
  static constexpr bool keeps_all(std::uint64_t bytes) {
    return takes_nothing_back<Source> || (takes_buffer && bytes > local::multipool<>::largest_block);
  }

  // Bytes of a source that serves a few small blocks, including the smallest request to its upstream.
  static constexpr std::uint64_t least_bytes() {
    return sizeof(source_type) + (is_global ? 0 : chunk_and_header);
  }

  static source_type make(const source_options& with) { return make_source<source_type>(with); }
  static handle_type& reach(source_type& source) { return escape<handle_type>(source); }
};

}  // namespace heaplab::strategies
