/* What llheap offers beyond malloc: for C and C++ programs that run with one of its libraries
   (libheaplab_llheap*.so, or the static archives of the same names).

   llheap remembers three properties of a block until the block is freed: the requested size, the alignment
   (set by every aligned allocation) and zero-fill (set by calloc and cmemalign). Alignment and zero-fill are
   sticky: realloc keeps both, and the bytes that a zero-filled block gains are zero.

   All sizes are in bytes. An alignment is any power of two; an alignment below 16 means 16. A size of 0, also
   as count * size, is served with a block of its own. A function that returns a pointer returns null on
   failure and sets errno: ENOMEM when no memory is left or count * size is too large, EINVAL for an invalid
   alignment. */
#ifndef HEAPLAB_LLHEAP_H
#define HEAPLAB_LLHEAP_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
#define HEAPLAB_NOEXCEPT noexcept
extern "C" {
#else
#define HEAPLAB_NOEXCEPT
#endif

/* ---- Allocation ---- */

/* As calloc, but the bytes are not cleared: room for `count` elements of `size` bytes. */
void* aalloc(size_t count, size_t size) HEAPLAB_NOEXCEPT;

/* As aalloc, with a sticky alignment. */
void* amemalign(size_t alignment, size_t count, size_t size) HEAPLAB_NOEXCEPT;

/* As amemalign, with all bytes zero; alignment and zero-fill are sticky. */
void* cmemalign(size_t alignment, size_t count, size_t size) HEAPLAB_NOEXCEPT;

/* ---- A new size without the old contents ---- */

/* A block of `size` bytes in place of `block` (null: a new one), faster than realloc because nothing is
   copied. The contents of the new block are undefined, and the sticky properties are lost. `block` is freed
   even if the call fails. */
void* resize(void* block, size_t size) HEAPLAB_NOEXCEPT;

/* As resize(block, count * size). */
void* resizearray(void* block, size_t count, size_t size) HEAPLAB_NOEXCEPT;

/* As resize, with a sticky alignment. A call that fails with EINVAL leaves `block` as it is. */
void* aligned_resize(void* block, size_t alignment, size_t size) HEAPLAB_NOEXCEPT;

/* As aligned_resize(block, alignment, count * size). */
void* aligned_resizearray(void* block, size_t alignment, size_t count, size_t size) HEAPLAB_NOEXCEPT;

/* ---- A new size with the old contents ---- */

/* As realloc(block, size), with a new sticky alignment in place of the old one. Zero-fill is kept. Unlike
   realloc, a size of 0 does not free `block`: the result is a block. On failure `block` is untouched. */
void* aligned_realloc(void* block, size_t alignment, size_t size) HEAPLAB_NOEXCEPT;

/* As aligned_realloc(block, alignment, count * size). */
void* aligned_reallocarray(void* block, size_t alignment, size_t count, size_t size) HEAPLAB_NOEXCEPT;

/* As realloc, but `*block` is replaced in place, and only on success, so that a failure cannot leak the
   block. `*block` may be null; a size of 0 does not free it. Returns 0 or ENOMEM; errno is not used. */
int posix_realloc(void** block, size_t size) HEAPLAB_NOEXCEPT;

/* As posix_realloc(block, count * size). */
int posix_reallocarray(void** block, size_t count, size_t size) HEAPLAB_NOEXCEPT;

/* As posix_realloc, with a new alignment, which must be a power of two and a multiple of sizeof(void*), as
   for posix_memalign. Returns 0, ENOMEM or EINVAL. */
int posix_aligned_realloc(void** block, size_t alignment, size_t size) HEAPLAB_NOEXCEPT;

/* As posix_aligned_realloc(block, alignment, count * size). */
int posix_aligned_reallocarray(void** block, size_t alignment, size_t count, size_t size) HEAPLAB_NOEXCEPT;

/* ---- Properties of a block (null, or a live block) ---- */

/* The sticky alignment of the block; 16 for null and for a block allocated without an alignment. */
size_t malloc_alignment(void* block) HEAPLAB_NOEXCEPT;

/* Whether the block is zero-filled; false for null. */
bool malloc_zero_fill(void* block) HEAPLAB_NOEXCEPT;

/* The requested bytes (malloc_usable_size tells the usable bytes); 0 for null. */
size_t malloc_request_size(void* block) HEAPLAB_NOEXCEPT;

/* Whether another thread's heap owns the block. False for null and for blocks with their own mapping. */
bool malloc_remote(void* block) HEAPLAB_NOEXCEPT;

/* ---- Statistics ----
   malloc_stats (of <malloc.h>) prints what the heaps hold and, in llheap-stats and llheap-debug, a row for
   each routine: calls, calls for 0 bytes, bytes requested, bytes allocated, bytes freed. With the environment
   variable MALLOC_STATS, the statistics are printed at the end of the process. */

/* Sets the file descriptor to which malloc_stats and heap_stats write; standard error by default. Returns the
   previous descriptor. */
int malloc_stats_fd(int fd) HEAPLAB_NOEXCEPT;

/* Sets whether malloc_stats also lists the free blocks of each bucket; false by default, true with
   MALLOC_STATS=1. Returns the previous setting. */
bool malloc_stats_all(bool with_buckets) HEAPLAB_NOEXCEPT;

/* Resets the rows of all routines to zero. */
void malloc_stats_clear(void) HEAPLAB_NOEXCEPT;

/* Prints the rows of the calling thread's heap alone; all are zero in libraries without statistics. */
void heap_stats(void) HEAPLAB_NOEXCEPT;

/* ---- Limits that a program may set ----
   A program that defines one of these functions replaces a limit. Each function is called once, before the
   first block is served, and must not allocate. A value out of range is replaced by the nearest allowed one.
   With LD_PRELOAD the program must be linked with -rdynamic, so that the library finds its functions. */

/* Bytes of address space reserved from the system at a time. From the value of malloc_thread_extend to 1 TiB;
   128 MiB by default. */
size_t malloc_heap_extend(void);

/* Bytes of that address space that a thread takes at a time. 64 KiB to 64 MiB; 2 MiB by default. */
size_t malloc_thread_extend(void);

/* Number of thread heaps created at a time. 1 to 4096; 32 by default. */
size_t malloc_thread_block(void);

/* Requests above this number of bytes get mappings of their own. At most 64 MiB; 32 MiB by default.
   mallopt(M_MMAP_THRESHOLD, n) changes the limit later. */
size_t malloc_mmap_start(void);

/* Bytes that llheap-debug does not count as unfreed; 0 by default. Called at the end of the process. */
size_t malloc_unfreed(void);

#ifdef __cplusplus
}
#endif
#undef HEAPLAB_NOEXCEPT

#endif
