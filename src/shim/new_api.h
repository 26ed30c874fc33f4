// Every replaceable form of operator new and operator delete, written once for every heap.
//
// operator new and operator delete have four base forms each: for one object or an array, aligned or not. A
// program may replace each of them alone. The derived forms (nothrow, sized) call a base form, and the array
// forms call the form for one object, as [new.delete] in the standard requires. The dynamic loader binds
// these calls (src/shim/replaceable.txt keeps the linker from doing so); in a statically linked program the
// linker binds them, as these definitions are weak. So a derived form costs one indirect jump more than its
// base.
//
// operator new asks the heap, then calls the new-handler as long as one is set, then throws bad_alloc
// (nothrow: returns null). An alignment that is no power of two throws bad_alloc at once, as with libstdc++.
// The heap needs neither size nor alignment to free a block, and may check the size.
//
// Included by bind.h, behind the definition of bound_heap.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>

#include "base/bits.h"
#include "base/compiler.h"
#include "base/heap_concept.h"
#include "cxx_runtime/cxx_runtime.h"

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

// Itanium ABI names below; m is the std::size_t of a 64-bit machine.
static_assert(sizeof(std::size_t) == sizeof(unsigned long));

#define HEAPLAB_REPLACEABLE HEAPLAB_EXPORT [[gnu::weak]]
// A call that does not go through the procedure linkage table.
#define HEAPLAB_BASE_FORM HEAPLAB_REPLACEABLE [[gnu::noplt]]

// --- the forms that others call ---

HEAPLAB_BASE_FORM void* operator new(std::size_t size) {
  void* const block = heaplab::shim::bound_heap::allocate(size);
  if (block == nullptr) [[unlikely]]
    return heaplab::shim::new_slow(size, 1);
  return block;
}

HEAPLAB_BASE_FORM void* operator new[](std::size_t size) {
  return ::operator new(size);
}

HEAPLAB_BASE_FORM void* operator new(std::size_t size, std::align_val_t align) {
  const auto alignment = static_cast<std::size_t>(align);
  if (!heaplab::is_power_of_two(alignment)) heaplab::throw_bad_alloc();
  void* const block = heaplab::shim::try_new(size, alignment);
  return block != nullptr ? block : heaplab::shim::new_slow(size, alignment);
}

HEAPLAB_BASE_FORM void* operator new[](std::size_t size, std::align_val_t align) {
  return ::operator new(size, align);
}

HEAPLAB_BASE_FORM void operator delete(void* block) noexcept {
  if (heaplab::takes_null<heaplab::shim::bound_heap> || block != nullptr) [[likely]]
    heaplab::shim::bound_heap::deallocate(block);
}

HEAPLAB_BASE_FORM void operator delete[](void* block) noexcept {
  ::operator delete(block);
}

HEAPLAB_BASE_FORM void operator delete(void* block, std::align_val_t) noexcept {
  if (heaplab::takes_null<heaplab::shim::bound_heap> || block != nullptr) [[likely]]
    heaplab::shim::bound_heap::deallocate(block);
}

HEAPLAB_BASE_FORM void operator delete[](void* block, std::align_val_t align) noexcept {
  ::operator delete(block, align);
}

// --- nothrow ---

namespace heaplab::shim {

// Names for the functions above that no program can replace. A form in effect that differs from these is the
// program's.
#define HEAPLAB_OWN_NAME(mangled) \
  [[gnu::alias(mangled), gnu::visibility("hidden"), gnu::malloc, gnu::alloc_size(1)]]
HEAPLAB_OWN_NAME("_Znwm") void* own_new(std::size_t);
HEAPLAB_OWN_NAME("_Znam") void* own_new_array(std::size_t);
HEAPLAB_OWN_NAME("_ZnwmSt11align_val_t") void* own_new(std::size_t, std::align_val_t);
HEAPLAB_OWN_NAME("_ZnamSt11align_val_t") void* own_new_array(std::size_t, std::align_val_t);
#undef HEAPLAB_OWN_NAME
#define HEAPLAB_OWN_NAME(mangled) [[gnu::alias(mangled), gnu::visibility("hidden")]]
HEAPLAB_OWN_NAME("_ZdlPv") void own_delete(void*) noexcept;
HEAPLAB_OWN_NAME("_ZdaPv") void own_delete_array(void*) noexcept;
HEAPLAB_OWN_NAME("_ZdlPvSt11align_val_t") void own_delete(void*, std::align_val_t) noexcept;
HEAPLAB_OWN_NAME("_ZdaPvSt11align_val_t") void own_delete_array(void*, std::align_val_t) noexcept;
#undef HEAPLAB_OWN_NAME

// Uses no exceptions where the program replaces nothing: a C program has no run-time library for them.
inline void* new_nothrow(std::size_t size) noexcept {
  constexpr plain_new* own = own_new;
  if (plain_new* const in_effect = ::operator new; in_effect != own) return call_nothrow(in_effect, size);
  void* const block = bound_heap::allocate(size);
  return block != nullptr ? block : new_nothrow_slow(size, 1);
}

inline void* new_nothrow(std::size_t size, std::align_val_t align) noexcept {
  constexpr aligned_new* own = own_new;
  if (aligned_new* const in_effect = ::operator new; in_effect != own)
    return call_nothrow(in_effect, size, align);
  const auto alignment = static_cast<std::size_t>(align);
  if (!is_power_of_two(alignment)) return nullptr;
  void* const block = try_new(size, alignment);
  return block != nullptr ? block : new_nothrow_slow(size, alignment);
}

}  // namespace heaplab::shim

HEAPLAB_REPLACEABLE void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  return heaplab::shim::new_nothrow(size);
}

HEAPLAB_REPLACEABLE void* operator new[](std::size_t size, const std::nothrow_t&) noexcept {
  constexpr heaplab::plain_new* own = heaplab::shim::own_new_array;
  if (heaplab::plain_new* const in_effect = ::operator new[]; in_effect != own)
    return heaplab::call_nothrow(in_effect, size);
  return heaplab::shim::new_nothrow(size);
}

HEAPLAB_REPLACEABLE void* operator new(std::size_t size, std::align_val_t align,
                                       const std::nothrow_t&) noexcept {
  return heaplab::shim::new_nothrow(size, align);
}

HEAPLAB_REPLACEABLE void* operator new[](std::size_t size, std::align_val_t align,
                                         const std::nothrow_t&) noexcept {
  constexpr heaplab::aligned_new* own = heaplab::shim::own_new_array;
  if (heaplab::aligned_new* const in_effect = ::operator new[]; in_effect != own)
    return heaplab::call_nothrow(in_effect, size, align);
  return heaplab::shim::new_nothrow(size, align);
}

HEAPLAB_REPLACEABLE void operator delete(void* block, const std::nothrow_t&) noexcept {
  ::operator delete(block);
}

HEAPLAB_REPLACEABLE void operator delete[](void* block, const std::nothrow_t&) noexcept {
  ::operator delete[](block);
}

HEAPLAB_REPLACEABLE void operator delete(void* block, std::align_val_t align,
                                         const std::nothrow_t&) noexcept {
  ::operator delete(block, align);
}

HEAPLAB_REPLACEABLE void operator delete[](void* block, std::align_val_t align,
                                           const std::nothrow_t&) noexcept {
  ::operator delete[](block, align);
}

// --- sized ---
//
// Sizes are checked only where the program replaces no form that made or frees the block: what a replaced
// form allocates is the program's business.

namespace heaplab::shim {

template <class Form>
bool is_own(Form* in_effect, Form* own) {
  return in_effect == own;
}

inline bool plain_forms_are_own() {
  return is_own<plain_new>(::operator new, own_new) && is_own<plain_delete>(::operator delete, own_delete);
}

inline bool plain_array_forms_are_own() {
  return plain_forms_are_own() && is_own<plain_new>(::operator new[], own_new_array) &&
         is_own<plain_delete>(::operator delete[], own_delete_array);
}

inline bool aligned_forms_are_own() {
  return is_own<aligned_new>(::operator new, own_new) &&
         is_own<aligned_delete>(::operator delete, own_delete);
}

inline bool aligned_array_forms_are_own() {
  return aligned_forms_are_own() && is_own<aligned_new>(::operator new[], own_new_array) &&
         is_own<aligned_delete>(::operator delete[], own_delete_array);
}

template <bool (*AreOwn)()>
void check_deleted(void* block, std::size_t size,
                   std::align_val_t align = std::align_val_t{heap_alignment}) noexcept {
  if constexpr (checks_sizes<bound_heap>)
    if (AreOwn()) check_sized_free<bound_heap>(block, size, static_cast<std::size_t>(align), false);
}

}  // namespace heaplab::shim

HEAPLAB_REPLACEABLE void operator delete(void* block, std::size_t size) noexcept {
  heaplab::shim::check_deleted<heaplab::shim::plain_forms_are_own>(block, size);
  ::operator delete(block);
}

HEAPLAB_REPLACEABLE void operator delete[](void* block, std::size_t size) noexcept {
  heaplab::shim::check_deleted<heaplab::shim::plain_array_forms_are_own>(block, size);
  ::operator delete[](block);
}

HEAPLAB_REPLACEABLE void operator delete(void* block, std::size_t size, std::align_val_t align) noexcept {
  heaplab::shim::check_deleted<heaplab::shim::aligned_forms_are_own>(block, size, align);
  ::operator delete(block, align);
}

HEAPLAB_REPLACEABLE void operator delete[](void* block, std::size_t size, std::align_val_t align) noexcept {
  heaplab::shim::check_deleted<heaplab::shim::aligned_array_forms_are_own>(block, size, align);
  ::operator delete[](block, align);
}

#undef HEAPLAB_BASE_FORM
#undef HEAPLAB_REPLACEABLE
