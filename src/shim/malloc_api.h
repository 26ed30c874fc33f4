// The C allocation functions, written once for every heap. Where C23, POSIX and glibc leave a choice:
//
//   malloc(0), calloc(0, n), posix_memalign(.., 0)   a block of its own, as glibc
//   realloc(p, 0)                                    frees p and returns null, errno untouched, as glibc
//   reallocarray(p, 0, n)                            the same
//   more than PTRDIFF_MAX bytes                      ENOMEM, also where a product or sum overflows
//   aligned_alloc                                    EINVAL unless the alignment is a power of two; any size
//   memalign                                         an alignment that is no power of two is rounded up to
//                                                    one; EINVAL where there is none
//   posix_memalign                                   EINVAL unless a power of two and a multiple of 8; on
//                                                    failure *result stays, and errno is set where memory is
//                                                    out, as by glibc
//   free and its kin                                 keep errno (the heap's functions do)
//   free_sized, free_aligned_sized                   as free: the heap knows its blocks, and may check the
//   size
//
// Included by bind.h, behind the definition of bound_heap.
#pragma once

#include <malloc.h>
#include <stdlib.h>

#include <bit>
#include <cerrno>
#include <cstddef>
#include <cstdint>

#include "base/bits.h"
#include "base/compiler.h"
#include "base/heap_concept.h"
#include "base/os_pages.h"

namespace heaplab::shim {

inline constexpr std::size_t largest_request = PTRDIFF_MAX;

HEAPLAB_SLOW_PATH inline void* refuse(int error) {
  errno = error;
  return nullptr;
}

HEAPLAB_FAST_PATH void* or_out_of_memory(void* block) {
  if (block == nullptr) [[unlikely]]
    return refuse(ENOMEM);
  return block;
}

// Null where size and alignment exceed the largest request; the heap may then add them without overflow.
inline void* try_allocate_aligned(std::size_t alignment, std::size_t size) {
  if (alignment > largest_request || size > largest_request - alignment) return nullptr;
  if (alignment <= heap_alignment) return bound_heap::allocate(size);
  return bound_heap::allocate_aligned(alignment, size);
}

inline void* reallocate(void* block, std::size_t size) {
  if (block == nullptr) return or_out_of_memory(bound_heap::allocate(size));
  if (size == 0) {
    bound_heap::deallocate(block);
    return nullptr;
  }
  if (size > largest_request) return refuse(ENOMEM);
  return or_out_of_memory(bound_heap::reallocate(block, size));
}

HEAPLAB_FAST_PATH void release(void* block) {
  if (takes_null<bound_heap> || block != nullptr) [[likely]]
    bound_heap::deallocate(block);
}

}  // namespace heaplab::shim

extern "C" {

HEAPLAB_EXPORT void* malloc(std::size_t size) noexcept {
  return heaplab::shim::or_out_of_memory(heaplab::shim::bound_heap::allocate(size));
}

HEAPLAB_EXPORT void* calloc(std::size_t count, std::size_t size) noexcept {
  std::ptrdiff_t bytes;
  if (__builtin_mul_overflow(count, size, &bytes)) [[unlikely]]
    return heaplab::shim::refuse(ENOMEM);
  return heaplab::shim::or_out_of_memory(
      heaplab::shim::bound_heap::allocate_zeroed(static_cast<std::size_t>(bytes)));
}

HEAPLAB_EXPORT void free(void* block) noexcept {
  heaplab::shim::release(block);
}

HEAPLAB_EXPORT void free_sized(void* block, std::size_t size) noexcept {
  heaplab::check_sized_free<heaplab::shim::bound_heap>(block, size, heaplab::heap_alignment, true);
  heaplab::shim::release(block);
}

HEAPLAB_EXPORT void free_aligned_sized(void* block, std::size_t alignment, std::size_t size) noexcept {
  heaplab::check_sized_free<heaplab::shim::bound_heap>(block, size, alignment, true);
  heaplab::shim::release(block);
}

HEAPLAB_EXPORT void* realloc(void* block, std::size_t size) noexcept {
  return heaplab::shim::reallocate(block, size);
}

HEAPLAB_EXPORT void* reallocarray(void* block, std::size_t count, std::size_t size) noexcept {
  std::size_t bytes;
  if (__builtin_mul_overflow(count, size, &bytes)) return heaplab::shim::refuse(ENOMEM);
  return heaplab::shim::reallocate(block, bytes);
}

HEAPLAB_EXPORT int posix_memalign(void** result, std::size_t alignment, std::size_t size) noexcept {
  if (!heaplab::is_power_of_two(alignment) || alignment % sizeof(void*) != 0) return EINVAL;
  void* const block = heaplab::shim::try_allocate_aligned(alignment, size);
  if (block == nullptr) return errno = ENOMEM;
  *result = block;
  return 0;
}

HEAPLAB_EXPORT void* aligned_alloc(std::size_t alignment, std::size_t size) noexcept {
  if (!heaplab::is_power_of_two(alignment)) return heaplab::shim::refuse(EINVAL);
  return heaplab::shim::or_out_of_memory(heaplab::shim::try_allocate_aligned(alignment, size));
}

HEAPLAB_EXPORT void* memalign(std::size_t alignment, std::size_t size) noexcept {
  if (alignment > SIZE_MAX / 2 + 1) return heaplab::shim::refuse(EINVAL);
  return heaplab::shim::or_out_of_memory(heaplab::shim::try_allocate_aligned(std::bit_ceil(alignment), size));
}

HEAPLAB_EXPORT void* valloc(std::size_t size) noexcept {
  return heaplab::shim::or_out_of_memory(
      heaplab::shim::try_allocate_aligned(heaplab::os_pages::page_bytes(), size));
}

HEAPLAB_EXPORT void* pvalloc(std::size_t size) noexcept {
  const std::size_t page = heaplab::os_pages::page_bytes();
  if (size > heaplab::shim::largest_request) return heaplab::shim::refuse(ENOMEM);
  return heaplab::shim::or_out_of_memory(
      heaplab::shim::try_allocate_aligned(page, heaplab::align_up(size, page)));
}

HEAPLAB_EXPORT std::size_t malloc_usable_size(void* block) noexcept {
  return block == nullptr ? 0 : heaplab::shim::bound_heap::usable_size(block);
}

// glibc's second names of these functions. Programs call them to bypass an interposed malloc, and then free()
// the block.
#define HEAPLAB_SECOND_NAME(second, first) \
  HEAPLAB_EXPORT [[gnu::alias(#first), gnu::copy(first)]] decltype(first) second
HEAPLAB_SECOND_NAME(__libc_malloc, malloc);
HEAPLAB_SECOND_NAME(__libc_calloc, calloc);
HEAPLAB_SECOND_NAME(__libc_realloc, realloc);
HEAPLAB_SECOND_NAME(__libc_free, free);
HEAPLAB_SECOND_NAME(__libc_memalign, memalign);
HEAPLAB_SECOND_NAME(__libc_valloc, valloc);
HEAPLAB_SECOND_NAME(__libc_pvalloc, pvalloc);
HEAPLAB_SECOND_NAME(__posix_memalign, posix_memalign);
#undef HEAPLAB_SECOND_NAME

}  // extern "C"
