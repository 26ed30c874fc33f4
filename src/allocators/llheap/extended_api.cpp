// The functions of include/heaplab/llheap.h, and what happens at the end of a process.
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "allocators/llheap/bound_heap.h"
#include "base/bits.h"
#include "base/compiler.h"

namespace {

using heap = heaplab::llheap::bound_heap;

void* refuse(int error) {
  errno = error;
  return nullptr;
}

void* or_out_of_memory(void* block) {
  return block != nullptr ? block : refuse(ENOMEM);
}

// A size the heap may add an alignment to; PTRDIFF_MAX + 1, which it refuses, where the product is too large.
std::size_t array_bytes(std::size_t count, std::size_t size) {
  std::ptrdiff_t bytes;
  if (__builtin_mul_overflow(count, size, &bytes)) return std::size_t{PTRDIFF_MAX} + 1;
  return static_cast<std::size_t>(bytes);
}

// An alignment, as aligned_alloc has it.
bool is_alignment(std::size_t value) {
  return heaplab::is_power_of_two(value);
}

// Replaces *pointer unless out of memory. 0 or an error number.
int store(void** pointer, void* block) {
  if (block == nullptr) return ENOMEM;
  *pointer = block;
  return 0;
}

}  // namespace

extern "C" {

HEAPLAB_EXPORT void* aalloc(std::size_t count, std::size_t size) noexcept {
  return or_out_of_memory(heap::allocate_array(array_bytes(count, size)));
}

HEAPLAB_EXPORT void* resize(void* block, std::size_t size) noexcept {
  return or_out_of_memory(block == nullptr ? heap::allocate(size) : heap::resize(block, size));
}

HEAPLAB_EXPORT void* resizearray(void* block, std::size_t count, std::size_t size) noexcept {
  return resize(block, array_bytes(count, size));
}

HEAPLAB_EXPORT void* amemalign(std::size_t alignment, std::size_t count, std::size_t size) noexcept {
  if (!is_alignment(alignment)) return refuse(EINVAL);
  return or_out_of_memory(heap::allocate_aligned_array(alignment, array_bytes(count, size)));
}

HEAPLAB_EXPORT void* cmemalign(std::size_t alignment, std::size_t count, std::size_t size) noexcept {
  if (!is_alignment(alignment)) return refuse(EINVAL);
  return or_out_of_memory(heap::allocate_aligned_zeroed(alignment, array_bytes(count, size)));
}

HEAPLAB_EXPORT void* aligned_resize(void* block, std::size_t alignment, std::size_t size) noexcept {
  if (!is_alignment(alignment)) return refuse(EINVAL);
  return or_out_of_memory(block == nullptr ? heap::allocate_aligned(alignment, size)
                                           : heap::resize_aligned(block, alignment, size));
}

HEAPLAB_EXPORT void* aligned_resizearray(void* block, std::size_t alignment, std::size_t count,
                                         std::size_t size) noexcept {
  return aligned_resize(block, alignment, array_bytes(count, size));
}

HEAPLAB_EXPORT void* aligned_realloc(void* block, std::size_t alignment, std::size_t size) noexcept {
  if (!is_alignment(alignment)) return refuse(EINVAL);
  return or_out_of_memory(block == nullptr ? heap::allocate_aligned(alignment, size)
                                           : heap::reallocate_aligned(block, alignment, size));
}

HEAPLAB_EXPORT void* aligned_reallocarray(void* block, std::size_t alignment, std::size_t count,
                                          std::size_t size) noexcept {
  return aligned_realloc(block, alignment, array_bytes(count, size));
}

HEAPLAB_EXPORT int posix_realloc(void** block, std::size_t size) noexcept {
  return store(block, *block == nullptr ? heap::allocate(size) : heap::reallocate(*block, size));
}

HEAPLAB_EXPORT int posix_reallocarray(void** block, std::size_t count, std::size_t size) noexcept {
  return posix_realloc(block, array_bytes(count, size));
}

HEAPLAB_EXPORT int posix_aligned_realloc(void** block, std::size_t alignment, std::size_t size) noexcept {
  if (!is_alignment(alignment) || alignment % sizeof(void*) != 0) return EINVAL;
  return store(block, *block == nullptr ? heap::allocate_aligned(alignment, size)
                                        : heap::reallocate_aligned(*block, alignment, size));
}

HEAPLAB_EXPORT int posix_aligned_reallocarray(void** block, std::size_t alignment, std::size_t count,
                                              std::size_t size) noexcept {
  return posix_aligned_realloc(block, alignment, array_bytes(count, size));
}

HEAPLAB_EXPORT std::size_t malloc_alignment(void* block) noexcept {
  return block == nullptr ? heaplab::llheap::minimum_alignment : heap::alignment(block);
}

HEAPLAB_EXPORT bool malloc_zero_fill(void* block) noexcept {
  return block != nullptr && heap::is_zero_filled(block);
}

HEAPLAB_EXPORT std::size_t malloc_request_size(void* block) noexcept {
  return block == nullptr ? 0 : heap::request_size(block);
}

HEAPLAB_EXPORT bool malloc_remote(void* block) noexcept {
  return block != nullptr && heap::is_remote(block);
}

HEAPLAB_EXPORT int malloc_stats_fd(int fd) noexcept {
  const int before = heap::chosen_fd >= 0 ? heap::chosen_fd : STDERR_FILENO;
  heap::chosen_fd = fd;
  return before;
}

HEAPLAB_EXPORT bool malloc_stats_all(bool with_buckets) noexcept {
  const bool before = heap::print_all_buckets;
  heap::print_all_buckets = with_buckets;
  return before;
}

HEAPLAB_EXPORT void malloc_stats_clear() noexcept {
  heap::clear_statistics();
}

HEAPLAB_EXPORT void heap_stats() noexcept {
  heap::print_own_heap(heap::chosen_fd >= 0 ? heap::chosen_fd : STDERR_FILENO);
}

}  // extern "C"

// MALLOC_STATS in the environment: statistics at the end, with buckets if its value is 1. The debug library
// then says what was never freed.
[[gnu::destructor(101)]] static void report_at_end() {
  if (const char* const wanted = secure_getenv("MALLOC_STATS")) {
    heap::print_all_buckets = heap::print_all_buckets || std::strcmp(wanted, "1") == 0;
    heap::print_statistics(STDERR_FILENO);
  }
  if constexpr (heap::settings.debug)
    heap::print_unfreed(STDERR_FILENO, malloc_unfreed ? malloc_unfreed() : 0);
}
