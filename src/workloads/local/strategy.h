// The allocation strategies of P0089 (section 4) by construction: allocator x binding x destruction, and
// further columns made the same way.
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

// What a source is made with, as far as it takes it: monotonic sources begin with the buffer.
struct source_options {
  std::span<std::byte> buffer = {};
  std::size_t first_chunk = 1024;  // bytes, where there is no buffer
};

template <class Source>
Source make_source(const source_options& with) {
  const local::monotonic_options arena{.buffer = with.buffer,
                                       .first_chunk = with.buffer.empty() ? with.first_chunk : 0};
  if constexpr (std::constructible_from<Source, const local::monotonic_options&>) {
    return Source(arena);
  } else if constexpr (std::constructible_from<Source, const local::multipool_over_monotonic_options&>) {
    return Source(local::multipool_over_monotonic_options{.arena = arena});
  } else if constexpr (std::constructible_from<Source, void*, std::size_t>) {
    return with.buffer.empty() ? Source(with.first_chunk) : Source(with.buffer.data(), with.buffer.size());
  } else {
    return Source();
  }
}

// How an allocator reaches its source: by its type, or through the abstract base. Containers depend on this
// handle only.
template <class Handle>
struct allocators {
  template <class T>
  using flat = local::allocator<T, Handle>;
  // For elements that allocate too.
  template <class T>
  using nesting = std::scoped_allocator_adaptor<flat<T>>;

  static auto of(Handle& source) { return flat<std::byte>(source); }
};

// Passes itself on to elements.
template <>
struct allocators<std::pmr::memory_resource> {
  template <class T>
  using flat = std::pmr::polymorphic_allocator<T>;
  template <class T>
  using nesting = flat<T>;

  static auto of(std::pmr::memory_resource& source) { return flat<std::byte>(&source); }
};

// The default: the same object code as if no allocator were named.
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
  // An arena of the general allocator is always destroyed as a whole; all others have a column without.
  static constexpr bool has_destroying_twin = is_winked_out && !std::same_as<Source, heap_arena>;

  // The object that owns the memory.
  using source_type = std::conditional_t<Bound == binding::type_parameter ||
                                             std::derived_from<Source, std::pmr::memory_resource>,
                                         Source, local::resource<Source>>;
  static constexpr std::uint64_t chunk_and_header = 128;

  // What containers and callers see of it.
  using handle_type = std::conditional_t<Bound == binding::type_parameter, Source, std::pmr::memory_resource>;

  // Whether all blocks come from the global allocator itself.
  static constexpr bool is_global = std::same_as<Source, local::new_delete>;
  // Whether it hands the buffer out before anything else.
  static constexpr bool takes_buffer = begins_with_buffer<Source>;
  // Whether blocks of `bytes` are not used again before the source ends: those of a monotonic allocator, and
  // those too large for the pools above one.
  static constexpr bool keeps_all(std::uint64_t bytes) {
    return takes_nothing_back<Source> || (takes_buffer && bytes > local::multipool<>::largest_block);
  }

  // Bytes of a source that serves a few small blocks, the least it gets from upstream included.
  static constexpr std::uint64_t least_bytes() {
    return sizeof(source_type) + (is_global ? 0 : chunk_and_header);
  }

  static source_type make(const source_options& with) { return make_source<source_type>(with); }
  static handle_type& reach(source_type& source) { return escape<handle_type>(source); }
};

}  // namespace heaplab::strategies
