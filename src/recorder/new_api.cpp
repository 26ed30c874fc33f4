// Every replaceable form of operator new and operator delete.
//
// These functions call the malloc below and no operator new below, because operator new would not tell which
// form the program used, and in every library its blocks are malloc's. A program may replace some forms: the
// other forms then call the program's forms, as [new.delete] in the standard requires of a library's
// (src/shim/new_api.h).
#include <cstddef>
#include <new>

#include "base/bits.h"
#include "base/compiler.h"
#include "cxx_runtime/cxx_runtime.h"
#include "recorder/early_arena.h"
#include "recorder/next_functions.h"
#include "recorder/recording.h"

namespace heaplab::recorder {
namespace {

using trace::kind;

constexpr std::size_t malloc_alignment = 16;

HEAPLAB_FAST_PATH void* try_new(kind k, std::size_t size, std::size_t alignment, const call_site& site,
                                std::uint64_t left = bytes_left()) {
  const auto log2 = log2_of(alignment);
  if (alignment <= malloc_alignment)
    return acquire(k, size, log2, site, [=] { return next.malloc(size); }, left);
  return acquire(k, size, log2, site, [=] { return next.aligned_alloc(alignment, size); }, left);
}

HEAPLAB_SLOW_PATH void* new_slow(kind k, std::size_t size, std::size_t alignment, const call_site& site) {
  while (call_new_handler())
    if (void* const block = try_new(k, size, alignment, site)) return block;
  throw_bad_alloc();
}

HEAPLAB_SLOW_PATH void* new_nothrow_slow(kind k, std::size_t size, std::size_t alignment,
                                         const call_site& site) noexcept {
  while (call_new_handler_nothrow())
    if (void* const block = try_new(k, size, alignment, site)) return block;
  return nullptr;
}

// Look closer at a call. They are jumped to, so that their return address and frame are those of the call.
HEAPLAB_OUT_OF_LINE void* new_closely(kind k, std::size_t size, std::size_t alignment, std::uint64_t left) {
  const call_site site = HEAPLAB_SITE;
  void* const block = try_new(k, size, alignment, site, left);
  return block != nullptr ? block : new_slow(k, size, alignment, site);
}

HEAPLAB_OUT_OF_LINE void* new_nothrow_closely(kind k, std::size_t size, std::size_t alignment,
                                              std::uint64_t left) noexcept {
  const call_site site = HEAPLAB_SITE;
  void* const block = try_new(k, size, alignment, site, left);
  return block != nullptr ? block : new_nothrow_slow(k, size, alignment, site);
}

HEAPLAB_OUT_OF_LINE void delete_closely(kind k, void* block, std::size_t size, std::size_t alignment) {
  if (early.owns(block)) [[unlikely]]
    return;
  release(k, block, size, alignment, HEAPLAB_CALLER, [=] { next.free(block); });
}

// A block for a call that needs no closer look; null: the call needs that, or there is no memory.
HEAPLAB_FAST_PATH void* passed(std::size_t size, std::size_t alignment, std::uint64_t& left) {
  if (!passes(size, left)) return nullptr;
  void* const block = alignment <= malloc_alignment ? next.malloc(size) : next.aligned_alloc(alignment, size);
  if (block == nullptr) left = bytes_left();  // no register has to keep what was read before the call
  return block;
}

// `alignment` 0: a form without alignment.
HEAPLAB_FAST_PATH void* new_block(kind k, std::size_t size, std::size_t alignment) {
  if (alignment != 0 && !is_power_of_two(alignment)) throw_bad_alloc();
  std::uint64_t left = bytes_left();
  if (void* const block = passed(size, alignment, left)) [[likely]]
    return block;
  return new_closely(k, size, alignment, left);
}

HEAPLAB_FAST_PATH void* new_block_nothrow(kind k, std::size_t size, std::size_t alignment) noexcept {
  if (alignment != 0 && !is_power_of_two(alignment)) return nullptr;
  std::uint64_t left = bytes_left();
  if (void* const block = passed(size, alignment, left)) [[likely]]
    return block;
  return new_nothrow_closely(k, size, alignment, left);
}

HEAPLAB_FAST_PATH void delete_block(kind k, void* block, std::size_t size, std::size_t alignment) {
  if (is_no_sample(block)) [[likely]]
    return next.free(block);
  delete_closely(k, block, size, alignment);
}

// The program's form, if the program has replaced `ours`; otherwise null.
template <class Function>
HEAPLAB_FAST_PATH Function* replaced(Function* in_effect, Function* ours) {
  return in_effect == ours ? nullptr : in_effect;
}

HEAPLAB_FAST_PATH std::size_t bytes_of(std::align_val_t alignment) {
  return static_cast<std::size_t>(alignment);
}

}  // namespace

// Names for the recorder's own forms, which no program can replace. The loader resolves the names without
// own_ (src/shim/replaceable.txt).
#define HEAPLAB_OWN_NAME(mangled) [[gnu::alias(mangled), gnu::visibility("hidden")]]
#define HEAPLAB_OWN_NEW(mangled) HEAPLAB_OWN_NAME(mangled) [[gnu::malloc, gnu::alloc_size(1)]]
HEAPLAB_OWN_NEW("_Znwm") void* own_new(std::size_t);
HEAPLAB_OWN_NEW("_Znam") void* own_new_array(std::size_t);
HEAPLAB_OWN_NEW("_ZnwmSt11align_val_t") void* own_aligned_new(std::size_t, std::align_val_t);
HEAPLAB_OWN_NEW("_ZnamSt11align_val_t") void* own_aligned_new_array(std::size_t, std::align_val_t);
HEAPLAB_OWN_NAME("_ZdlPv") void own_delete(void*) noexcept;
HEAPLAB_OWN_NAME("_ZdaPv") void own_delete_array(void*) noexcept;
HEAPLAB_OWN_NAME("_ZdlPvSt11align_val_t") void own_aligned_delete(void*, std::align_val_t) noexcept;
HEAPLAB_OWN_NAME("_ZdaPvSt11align_val_t") void own_aligned_delete_array(void*, std::align_val_t) noexcept;
#undef HEAPLAB_OWN_NEW
#undef HEAPLAB_OWN_NAME

}  // namespace heaplab::recorder

using heaplab::aligned_delete;
using heaplab::aligned_new;
using heaplab::call_nothrow;
using heaplab::plain_delete;
using heaplab::plain_new;
using heaplab::recorder::bytes_of;
using heaplab::recorder::delete_block;
using heaplab::recorder::new_block;
using heaplab::recorder::new_block_nothrow;
using heaplab::recorder::replaced;
using heaplab::trace::kind;
namespace own = heaplab::recorder;

// --- new ---

HEAPLAB_EXPORT void* operator new(std::size_t size) {
  return new_block(kind::new_object, size, 0);
}

HEAPLAB_EXPORT void* operator new[](std::size_t size) {
  if (auto* const theirs = replaced<plain_new>(::operator new, own::own_new)) return theirs(size);
  return new_block(kind::new_array, size, 0);
}

HEAPLAB_EXPORT void* operator new(std::size_t size, std::align_val_t alignment) {
  return new_block(kind::new_object, size, bytes_of(alignment));
}

HEAPLAB_EXPORT void* operator new[](std::size_t size, std::align_val_t alignment) {
  if (auto* const theirs = replaced<aligned_new>(::operator new, own::own_aligned_new))
    return theirs(size, alignment);
  return new_block(kind::new_array, size, bytes_of(alignment));
}

HEAPLAB_EXPORT void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  if (auto* const theirs = replaced<plain_new>(::operator new, own::own_new))
    return call_nothrow(theirs, size);
  return new_block_nothrow(kind::new_object_nothrow, size, 0);
}

// The array form calls the program's array form or, if there is none, the program's form for objects.
HEAPLAB_EXPORT void* operator new[](std::size_t size, const std::nothrow_t&) noexcept {
  if (auto* const theirs = replaced<plain_new>(::operator new[], own::own_new_array))
    return call_nothrow(theirs, size);
  if (auto* const theirs = replaced<plain_new>(::operator new, own::own_new))
    return call_nothrow(theirs, size);
  return new_block_nothrow(kind::new_array_nothrow, size, 0);
}

HEAPLAB_EXPORT void* operator new(std::size_t size, std::align_val_t alignment,
                                  const std::nothrow_t&) noexcept {
  if (auto* const theirs = replaced<aligned_new>(::operator new, own::own_aligned_new))
    return call_nothrow(theirs, size, alignment);
  return new_block_nothrow(kind::new_object_nothrow, size, bytes_of(alignment));
}

HEAPLAB_EXPORT void* operator new[](std::size_t size, std::align_val_t alignment,
                                    const std::nothrow_t&) noexcept {
  if (auto* const theirs = replaced<aligned_new>(::operator new[], own::own_aligned_new_array))
    return call_nothrow(theirs, size, alignment);
  if (auto* const theirs = replaced<aligned_new>(::operator new, own::own_aligned_new))
    return call_nothrow(theirs, size, alignment);
  return new_block_nothrow(kind::new_array_nothrow, size, bytes_of(alignment));
}

// --- delete ---

HEAPLAB_EXPORT void operator delete(void* block) noexcept {
  delete_block(kind::delete_object, block, 0, 0);
}

HEAPLAB_EXPORT void operator delete[](void* block) noexcept {
  if (auto* const theirs = replaced<plain_delete>(::operator delete, own::own_delete)) return theirs(block);
  delete_block(kind::delete_array, block, 0, 0);
}

HEAPLAB_EXPORT void operator delete(void* block, std::align_val_t alignment) noexcept {
  delete_block(kind::delete_object, block, 0, bytes_of(alignment));
}

HEAPLAB_EXPORT void operator delete[](void* block, std::align_val_t alignment) noexcept {
  if (auto* const theirs = replaced<aligned_delete>(::operator delete, own::own_aligned_delete))
    return theirs(block, alignment);
  delete_block(kind::delete_array, block, 0, bytes_of(alignment));
}

HEAPLAB_EXPORT void operator delete(void* block, std::size_t size) noexcept {
  if (auto* const theirs = replaced<plain_delete>(::operator delete, own::own_delete)) return theirs(block);
  delete_block(kind::delete_object_sized, block, size, 0);
}

HEAPLAB_EXPORT void operator delete[](void* block, std::size_t size) noexcept {
  if (auto* const theirs = replaced<plain_delete>(::operator delete[], own::own_delete_array))
    return theirs(block);
  if (auto* const theirs = replaced<plain_delete>(::operator delete, own::own_delete)) return theirs(block);
  delete_block(kind::delete_array_sized, block, size, 0);
}

HEAPLAB_EXPORT void operator delete(void* block, std::size_t size, std::align_val_t alignment) noexcept {
  if (auto* const theirs = replaced<aligned_delete>(::operator delete, own::own_aligned_delete))
    return theirs(block, alignment);
  delete_block(kind::delete_object_sized, block, size, bytes_of(alignment));
}

HEAPLAB_EXPORT void operator delete[](void* block, std::size_t size, std::align_val_t alignment) noexcept {
  if (auto* const theirs = replaced<aligned_delete>(::operator delete[], own::own_aligned_delete_array))
    return theirs(block, alignment);
  if (auto* const theirs = replaced<aligned_delete>(::operator delete, own::own_aligned_delete))
    return theirs(block, alignment);
  delete_block(kind::delete_array_sized, block, size, bytes_of(alignment));
}

HEAPLAB_EXPORT void operator delete(void* block, const std::nothrow_t&) noexcept {
  ::operator delete(block);
}

HEAPLAB_EXPORT void operator delete[](void* block, const std::nothrow_t&) noexcept {
  ::operator delete[](block);
}

HEAPLAB_EXPORT void operator delete(void* block, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  ::operator delete(block, alignment);
}

HEAPLAB_EXPORT void operator delete[](void* block, std::align_val_t alignment,
                                      const std::nothrow_t&) noexcept {
  ::operator delete[](block, alignment);
}
