// The C allocation functions: each calls the function below and passes results and errors on unchanged.
#include <malloc.h>
#include <stdlib.h>

#include <cerrno>
#include <cstring>

#include "base/compiler.h"
#include "recorder/early_arena.h"
#include "recorder/next_functions.h"
#include "recorder/recording.h"

namespace heaplab::recorder {
namespace {

using trace::kind;

// Moves a block of the early arena to the functions below. The block was never recorded, so only an
// acquisition is.
HEAPLAB_SLOW_PATH void* move_early(void* block, std::size_t size, const call_site& site) {
  const std::size_t before = early.size_of(block);
  void* const moved = acquire(kind::realloc_to, size, 0, site, [=] { return next.malloc(size); });
  if (moved != nullptr) std::memcpy(moved, block, before < size ? before : size);
  return moved;
}

HEAPLAB_FAST_PATH void* resize(kind from, kind to, void* block, std::size_t size, const call_site& site) {
  const auto call = [=] { return next.realloc(block, size); };
  if (block == nullptr) return acquire(to, size, 0, site, call);
  if (early.owns(block)) [[unlikely]]
    return move_early(block, size, site);
  return reallocate(from, to, block, size, site, call);
}

// The alignment to record. The function below refuses or rounds an alignment that is no power of two; the
// record then holds none.
std::uint8_t recorded(std::size_t alignment) {
  return is_power_of_two(alignment) ? log2_of(alignment) : std::uint8_t{0};
}

}  // namespace
}  // namespace heaplab::recorder

using heaplab::recorder::acquire;
using heaplab::recorder::early;
using heaplab::recorder::next;
using heaplab::recorder::recorded;
using heaplab::recorder::release;
using heaplab::trace::kind;

extern "C" {

HEAPLAB_EXPORT void* malloc(std::size_t size) noexcept {
  return acquire(kind::malloc, size, 0, HEAPLAB_SITE, [=] { return next.malloc(size); });
}

HEAPLAB_EXPORT void* calloc(std::size_t count, std::size_t size) noexcept {
  std::size_t bytes;
  if (__builtin_mul_overflow(count, size, &bytes)) bytes = SIZE_MAX;
  return acquire(kind::calloc, bytes, 0, HEAPLAB_SITE, [=] { return next.calloc(count, size); });
}

HEAPLAB_EXPORT void* realloc(void* block, std::size_t size) noexcept {
  return heaplab::recorder::resize(kind::realloc_from, kind::realloc_to, block, size, HEAPLAB_SITE);
}

// Not every library has reallocarray, whose meaning is the same everywhere.
HEAPLAB_EXPORT void* reallocarray(void* block, std::size_t count, std::size_t size) noexcept {
  std::size_t bytes;
  if (__builtin_mul_overflow(count, size, &bytes)) {
    errno = ENOMEM;
    return nullptr;
  }
  return heaplab::recorder::resize(kind::reallocarray_from, kind::reallocarray_to, block, bytes,
                                   HEAPLAB_SITE);
}

HEAPLAB_EXPORT void free(void* block) noexcept {
  if (early.owns(block)) [[unlikely]]
    return;
  release(kind::free, block, 0, 0, HEAPLAB_CALLER, [=] { next.free(block); });
}

HEAPLAB_EXPORT void free_sized(void* block, std::size_t size) noexcept {
  if (early.owns(block)) [[unlikely]]
    return;
  release(kind::free_sized, block, size, 0, HEAPLAB_CALLER, [=] { next.free_sized(block, size); });
}

HEAPLAB_EXPORT void free_aligned_sized(void* block, std::size_t alignment, std::size_t size) noexcept {
  if (early.owns(block)) [[unlikely]]
    return;
  release(kind::free_aligned_sized, block, size, heaplab::is_power_of_two(alignment) ? alignment : 0,
          HEAPLAB_CALLER, [=] { next.free_aligned_sized(block, alignment, size); });
}

HEAPLAB_EXPORT int posix_memalign(void** result, std::size_t alignment, std::size_t size) noexcept {
  int error = 0;
  acquire(kind::posix_memalign, size, recorded(alignment), HEAPLAB_SITE, [&]() -> void* {
    error = next.posix_memalign(result, alignment, size);
    return error == 0 ? *result : nullptr;
  });
  return error;
}

HEAPLAB_EXPORT void* aligned_alloc(std::size_t alignment, std::size_t size) noexcept {
  return acquire(kind::aligned_alloc, size, recorded(alignment), HEAPLAB_SITE,
                 [=] { return next.aligned_alloc(alignment, size); });
}

HEAPLAB_EXPORT void* memalign(std::size_t alignment, std::size_t size) noexcept {
  return acquire(kind::memalign, size, recorded(alignment), HEAPLAB_SITE,
                 [=] { return next.memalign(alignment, size); });
}

HEAPLAB_EXPORT void* valloc(std::size_t size) noexcept {
  return acquire(kind::valloc, size, 0, HEAPLAB_SITE, [=] { return next.valloc(size); });
}

HEAPLAB_EXPORT void* pvalloc(std::size_t size) noexcept {
  return acquire(kind::pvalloc, size, 0, HEAPLAB_SITE, [=] { return next.pvalloc(size); });
}

HEAPLAB_EXPORT std::size_t malloc_usable_size(void* block) noexcept {
  return early.owns(block) ? early.size_of(block) : next.malloc_usable_size(block);
}

}  // extern "C"
