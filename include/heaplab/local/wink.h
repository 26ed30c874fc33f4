// Winking out: an object is never destroyed, and its memory is reclaimed with all memory of its allocator
// (P0089, section 3).
#pragma once

#include <concepts>
#include <cstddef>
#include <memory>
#include <memory_resource>
#include <utility>

#include "heaplab/local/allocator.h"
#include "heaplab/local/source.h"
#include "heaplab/local/winks_out.h"

namespace heaplab::local {

// By this argument the caller asserts to know that the destructor need not run.
struct wink_anyway_t {};
inline constexpr wink_anyway_t wink_anyway;

// The allocator for an object inside `source`: bound to the source's type, or to the abstract base.
template <managed_source Source>
auto allocator_for(Source& source) {
  if constexpr (std::derived_from<Source, std::pmr::memory_resource>) {
    return std::pmr::polymorphic_allocator<>(&source);
  } else {
    return allocator<std::byte, Source>(source);
  }
}

// Makes a T from `arguments` in memory of `source`, with `source` as its allocator if T takes one. The T
// lives until source.release(), and its destructor never runs. Throws what the source and the constructor
// throw. The behavior is undefined if the T is used after the release.
template <class T, managed_source Source, class... Arguments>
T& make_winked(wink_anyway_t, Source& source, Arguments&&... arguments) {
  const auto release = [&source](T* block) { source.deallocate(block, sizeof(T), alignof(T)); };
  void* block = source.allocate(sizeof(T), alignof(T));
  std::unique_ptr<T, decltype(release)> unless_made(static_cast<T*>(block), release);
  T* object = std::uninitialized_construct_using_allocator(unless_made.get(), allocator_for(source),
                                                           std::forward<Arguments>(arguments)...);
  (void)unless_made.release();
  return *object;
}

// The same. Does not compile unless the destructor of T is known to do nothing but deallocate memory of the
// source.
template <class T, managed_source Source, class... Arguments>
T& make_winked(Source& source, Arguments&&... arguments) {
  if constexpr (!winks_out<T, Source>) {
    using part = refused_part<T, Source>;
    static_assert(winks_out<typename part::type, typename part::source>,
                  "the destructor of this type may do more than give back memory of the source: "
                  "make_winked<T>(wink_anyway, source, ...) abandons the object all the same");
  }
  return make_winked<T>(wink_anyway, source, std::forward<Arguments>(arguments)...);
}

}  // namespace heaplab::local
