// Sources of raw memory: the concept that all local allocators model.
#pragma once

#include <concepts>
#include <cstddef>
#include <memory_resource>
#include <type_traits>

namespace heaplab::local {

// A source allocates and deallocates blocks. `allocate` returns at least `bytes` bytes (0 is allowed) aligned
// to `alignment`, or throws; `deallocate` takes a block back. The behavior is undefined unless `alignment` is
// a power of two and `deallocate` gets the same `bytes` and `alignment` as the `allocate` of the block:
// because the caller knows both, blocks need no headers. std::pmr::memory_resource and classes derived from
// it are sources too.
template <class Source>
concept source = requires(Source& source, void* block, std::size_t bytes, std::size_t alignment) {
  { source.allocate(bytes, alignment) } -> std::same_as<void*>;
  source.deallocate(block, bytes, alignment);
};

// A managed source can reclaim all its blocks at once (P0089, section 3).
template <class Source>
concept managed_source = source<Source> && requires(Source& source) { source.release(); };

// A source whose `deallocate` does nothing: its users need not remember the blocks that they would
// deallocate.
template <class Source>
concept one_way_source = source<Source> && Source::deallocate_does_nothing;

// The upstream of an allocator that names none: for a source without state one object for the whole process;
// for the abstract base the resource last chosen by std::pmr::set_default_resource.
template <source Source>
Source& default_source() {
  if constexpr (std::same_as<Source, std::pmr::memory_resource>) {
    return *std::pmr::get_default_resource();
  } else {
    static_assert(std::is_empty_v<Source>, "an upstream with state has to be passed to the constructor");
    static constinit Source instance;
    return instance;
  }
}

}  // namespace heaplab::local
