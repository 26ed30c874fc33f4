// Every replaceable form of operator new and operator delete, once for every heap.
//
// new asks the heap, then the new-handler as long as one is set, then throws bad_alloc (nothrow: returns
// null). An alignment that is no power of two is bad_alloc at once, as with libstdc++. Every delete is the
// same function: the heap knows its blocks without size or alignment.
//
// Included by bind.h, behind the definition of bound_heap.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>

#include "base/bits.h"
#include "base/compiler.h"
#include "shim/cxx_runtime.h"
#include "shim/heap_concept.h"

namespace heaplab::shim {

inline void* try_new(std::size_t size, std::size_t alignment) {
  if (alignment <= heap_alignment) return bound_heap::allocate(size);
  if (alignment > PTRDIFF_MAX || size > PTRDIFF_MAX - alignment) return nullptr;
  return bound_heap::allocate_aligned(alignment, size);
}

HEAPLAB_SLOW_PATH inline void* new_slow(std::size_t size, std::size_t alignment) {
  while (call_new_handler())
    if (void* const block = try_new(size, alignment)) return block;
  throw_bad_alloc();
}

HEAPLAB_SLOW_PATH inline void* new_nothrow_slow(std::size_t size, std::size_t alignment) noexcept {
  while (call_new_handler_nothrow())
    if (void* const block = try_new(size, alignment)) return block;
  return nullptr;
}

}  // namespace heaplab::shim

// The second names of a function cost no code.
#define HEAPLAB_SAME_AS(mangled) HEAPLAB_EXPORT [[gnu::alias(mangled)]]

HEAPLAB_EXPORT void* operator new(std::size_t size) {
  void* const block = heaplab::shim::bound_heap::allocate(size);
  if (block == nullptr) [[unlikely]]
    return heaplab::shim::new_slow(size, 1);
  return block;
}

HEAPLAB_EXPORT void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  void* const block = heaplab::shim::bound_heap::allocate(size);
  if (block == nullptr) [[unlikely]]
    return heaplab::shim::new_nothrow_slow(size, 1);
  return block;
}

HEAPLAB_EXPORT void* operator new(std::size_t size, std::align_val_t align) {
  const auto alignment = static_cast<std::size_t>(align);
  if (!heaplab::is_power_of_two(alignment)) heaplab::shim::throw_bad_alloc();
  void* const block = heaplab::shim::try_new(size, alignment);
  return block != nullptr ? block : heaplab::shim::new_slow(size, alignment);
}

HEAPLAB_EXPORT void* operator new(std::size_t size, std::align_val_t align, const std::nothrow_t&) noexcept {
  const auto alignment = static_cast<std::size_t>(align);
  if (!heaplab::is_power_of_two(alignment)) return nullptr;
  void* const block = heaplab::shim::try_new(size, alignment);
  return block != nullptr ? block : heaplab::shim::new_nothrow_slow(size, alignment);
}

HEAPLAB_EXPORT void operator delete(void* block) noexcept {
  if (heaplab::takes_null<heaplab::shim::bound_heap> || block != nullptr) [[likely]]
    heaplab::shim::bound_heap::deallocate(block);
}

// Itanium ABI names of the functions above; m is the std::size_t of a 64-bit machine.
static_assert(sizeof(std::size_t) == sizeof(unsigned long));

HEAPLAB_SAME_AS("_Znwm") void* operator new[](std::size_t);
HEAPLAB_SAME_AS("_ZnwmRKSt9nothrow_t") void* operator new[](std::size_t, const std::nothrow_t&) noexcept;
HEAPLAB_SAME_AS("_ZnwmSt11align_val_t") void* operator new[](std::size_t, std::align_val_t);
HEAPLAB_SAME_AS("_ZnwmSt11align_val_tRKSt9nothrow_t")
void* operator new[](std::size_t, std::align_val_t, const std::nothrow_t&) noexcept;

// Arguments a callee does not look at do no harm in the calling conventions of Linux.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wattribute-alias"
HEAPLAB_SAME_AS("_ZdlPv") void operator delete(void*, const std::nothrow_t&) noexcept;
HEAPLAB_SAME_AS("_ZdlPv") void operator delete(void*, std::size_t) noexcept;
HEAPLAB_SAME_AS("_ZdlPv") void operator delete(void*, std::align_val_t) noexcept;
HEAPLAB_SAME_AS("_ZdlPv") void operator delete(void*, std::align_val_t, const std::nothrow_t&) noexcept;
HEAPLAB_SAME_AS("_ZdlPv") void operator delete(void*, std::size_t, std::align_val_t) noexcept;
HEAPLAB_SAME_AS("_ZdlPv") void operator delete[](void*) noexcept;
HEAPLAB_SAME_AS("_ZdlPv") void operator delete[](void*, const std::nothrow_t&) noexcept;
HEAPLAB_SAME_AS("_ZdlPv") void operator delete[](void*, std::size_t) noexcept;
HEAPLAB_SAME_AS("_ZdlPv") void operator delete[](void*, std::align_val_t) noexcept;
HEAPLAB_SAME_AS("_ZdlPv") void operator delete[](void*, std::align_val_t, const std::nothrow_t&) noexcept;
HEAPLAB_SAME_AS("_ZdlPv") void operator delete[](void*, std::size_t, std::align_val_t) noexcept;
#pragma GCC diagnostic pop

#undef HEAPLAB_SAME_AS
