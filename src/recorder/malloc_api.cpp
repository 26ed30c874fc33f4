// The C allocation functions: each calls the function below and passes results and errors on unchanged.
//
// While blocks are sampled, most calls jump to the function below without a stack frame of their own
// (tests/codegen).
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

// The alignment to record. The function below refuses or rounds an alignment that is no power of two; the
// record then holds none.
std::uint8_t recorded(std::size_t alignment) {
  return is_power_of_two(alignment) ? log2_of(alignment) : std::uint8_t{0};
}

// Looks closer at a call. It is jumped to, so that its return address and frame are those of the call.
template <kind Kind, auto Function, class... Arguments>
HEAPLAB_OUT_OF_LINE void* acquire_closely(std::size_t size, std::uint8_t alignment_log2, std::uint64_t left,
                                          Arguments... arguments) {
  const auto call = [=] { return (next.*Function)(arguments...); };
  return acquire(Kind, size, alignment_log2, HEAPLAB_SITE, call, left);
}

// `arguments` are those of the function below that does the same.
template <kind Kind, auto Function, class... Arguments>
HEAPLAB_FAST_PATH void* acquire_by(std::size_t size, std::size_t alignment, Arguments... arguments) {
  const std::uint64_t left = bytes_left();
  if (passes(size, left)) [[likely]]
    return (next.*Function)(arguments...);
  return acquire_closely<Kind, Function>(size, recorded(alignment), left, arguments...);
}

HEAPLAB_OUT_OF_LINE int posix_memalign_closely(void** result, std::size_t alignment, std::size_t size,
                                               std::uint64_t left) {
  int error = 0;
  const auto call = [&]() -> void* {
    error = next.posix_memalign(result, alignment, size);
    return error == 0 ? *result : nullptr;
  };
  acquire(kind::posix_memalign, size, recorded(alignment), HEAPLAB_SITE, call, left);
  return error;
}

template <kind From, kind To>
HEAPLAB_OUT_OF_LINE void* resize_closely(void* block, std::size_t size, std::uint64_t left) {
  const call_site site = HEAPLAB_SITE;
  const auto call = [=] { return next.realloc(block, size); };
  if (block == nullptr) return acquire(To, size, 0, site, call, left);
  if (early.owns(block)) [[unlikely]]
    return move_early(block, size, site);
  return reallocate(From, To, block, size, site, call, left);
}

template <kind From, kind To>
HEAPLAB_FAST_PATH void* resize(void* block, std::size_t size) {
  const std::uint64_t left = bytes_left();
  if (is_no_sample(block) && passes(size, left)) [[likely]]
    return next.realloc(block, size);
  return resize_closely<From, To>(block, size, left);
}

template <kind Kind, auto Function, class... Sizes>
HEAPLAB_OUT_OF_LINE void release_closely(void* block, std::size_t size, std::size_t alignment,
                                         Sizes... sizes) {
  if (early.owns(block)) [[unlikely]]
    return;
  const std::size_t recorded = is_power_of_two(alignment) ? alignment : 0;
  release(Kind, block, size, recorded, HEAPLAB_CALLER, [=] { (next.*Function)(block, sizes...); });
}

// The function below that does the same is called with the block and the `sizes`.
template <kind Kind, auto Function, class... Sizes>
HEAPLAB_FAST_PATH void release_by(void* block, std::size_t size, std::size_t alignment, Sizes... sizes) {
  if (is_no_sample(block)) [[likely]]
    return (next.*Function)(block, sizes...);
  release_closely<Kind, Function>(block, size, alignment, sizes...);
}

}  // namespace
}  // namespace heaplab::recorder

using heaplab::recorder::acquire_by;
using heaplab::recorder::bytes_left;
using heaplab::recorder::early;
using heaplab::recorder::next;
using heaplab::recorder::passes;
using heaplab::recorder::posix_memalign_closely;
using heaplab::recorder::release_by;
using heaplab::recorder::resize;
using heaplab::trace::kind;
using functions = heaplab::recorder::next_functions;

extern "C" {

HEAPLAB_EXPORT void* malloc(std::size_t size) noexcept {
  return acquire_by<kind::malloc, &functions::malloc>(size, 0, size);
}

HEAPLAB_EXPORT void* calloc(std::size_t count, std::size_t size) noexcept {
  std::size_t bytes;
  if (__builtin_mul_overflow(count, size, &bytes)) bytes = SIZE_MAX;
  return acquire_by<kind::calloc, &functions::calloc>(bytes, 0, count, size);
}

HEAPLAB_EXPORT void* realloc(void* block, std::size_t size) noexcept {
  return resize<kind::realloc_from, kind::realloc_to>(block, size);
}

// Not every library has reallocarray, whose meaning is the same everywhere.
HEAPLAB_EXPORT void* reallocarray(void* block, std::size_t count, std::size_t size) noexcept {
  std::size_t bytes;
  if (__builtin_mul_overflow(count, size, &bytes)) {
    errno = ENOMEM;
    return nullptr;
  }
  return resize<kind::reallocarray_from, kind::reallocarray_to>(block, bytes);
}

HEAPLAB_EXPORT void free(void* block) noexcept {
  release_by<kind::free, &functions::free>(block, 0, 0);
}

HEAPLAB_EXPORT void free_sized(void* block, std::size_t size) noexcept {
  release_by<kind::free_sized, &functions::free_sized>(block, size, 0, size);
}

HEAPLAB_EXPORT void free_aligned_sized(void* block, std::size_t alignment, std::size_t size) noexcept {
  release_by<kind::free_aligned_sized, &functions::free_aligned_sized>(block, size, alignment, alignment,
                                                                       size);
}

HEAPLAB_EXPORT int posix_memalign(void** result, std::size_t alignment, std::size_t size) noexcept {
  const std::uint64_t left = bytes_left();
  if (passes(size, left)) [[likely]]
    return next.posix_memalign(result, alignment, size);
  return posix_memalign_closely(result, alignment, size, left);
}

HEAPLAB_EXPORT void* aligned_alloc(std::size_t alignment, std::size_t size) noexcept {
  return acquire_by<kind::aligned_alloc, &functions::aligned_alloc>(size, alignment, alignment, size);
}

HEAPLAB_EXPORT void* memalign(std::size_t alignment, std::size_t size) noexcept {
  return acquire_by<kind::memalign, &functions::memalign>(size, alignment, alignment, size);
}

HEAPLAB_EXPORT void* valloc(std::size_t size) noexcept {
  return acquire_by<kind::valloc, &functions::valloc>(size, 0, size);
}

HEAPLAB_EXPORT void* pvalloc(std::size_t size) noexcept {
  return acquire_by<kind::pvalloc, &functions::pvalloc>(size, 0, size);
}

}  // extern "C"
