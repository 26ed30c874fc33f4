// Adapter: a source as an allocator for containers, part of their type (P0089, section 4).
#pragma once

#include <cstddef>
#include <limits>
#include <new>
#include <type_traits>

#include "heaplab/local/fail.h"
#include "heaplab/local/source.h"

namespace heaplab::local {

// Refers to a source, which the allocator does not own. Copies refer to the same source and compare equal.
// Like std::pmr::polymorphic_allocator, the allocator stays with its container in assignment and swap; unlike
// std::pmr::polymorphic_allocator, it is copied with its container, so that the copy uses the source of the
// original. The behavior is undefined unless the source outlives the allocator.
template <class Value, source Source>
class allocator {
public:
  using value_type = Value;
  using is_always_equal = std::is_empty<Source>;

  allocator() noexcept
    requires std::is_empty_v<Source>
      : source_(&default_source<Source>()) {}

  // Implicit, so that a container can be given the source itself.
  allocator(Source& source) noexcept : source_(&source) {}

  template <class Other>
  allocator(const allocator<Other, Source>& other) noexcept : source_(other.source()) {}

  // Throws what the source throws, or std::bad_array_new_length if `count` values exceed the address space.
  [[nodiscard]] Value* allocate(std::size_t count) {
    if (count > std::numeric_limits<std::size_t>::max() / sizeof(Value)) fail<std::bad_array_new_length>();
    return static_cast<Value*>(source_->allocate(count * sizeof(Value), alignof(Value)));
  }

  void deallocate(Value* block, std::size_t count) {
    source_->deallocate(block, count * sizeof(Value), alignof(Value));
  }

  Source* source() const noexcept { return source_; }

  template <class Other>
  friend bool operator==(const allocator& left, const allocator<Other, Source>& right) noexcept {
    return is_always_equal::value || left.source() == right.source();
  }

private:
  Source* source_;
};

}  // namespace heaplab::local
