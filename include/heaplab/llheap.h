/* What llheap offers beyond malloc: for C and C++ programs that run with one of its libraries
   (libheaplab_llheap*.so, or the static archives of the same names).

   llheap remembers three things about a block until it is freed: the size that was asked for, an alignment
   (set by every aligned allocation) and that it is zero-filled (set by calloc and cmemalign). realloc keeps
   all three: the moved block has the same alignment, and what a zero-filled block gains is zero.

   All sizes are in bytes. An alignment is a power of two, any size of it; smaller than 16 means 16. Size 0
   is served with a block of its own, and count * size may be 0. Functions that return a pointer return null
   and set errno to ENOMEM when memory is out or count * size is too large, to EINVAL for a bad alignment. */
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

/* As calloc, without clearing: room for `count` elements of `size` bytes. */
void* aalloc(size_t count, size_t size) HEAPLAB_NOEXCEPT;

/* As aalloc, with an alignment, which sticks. */
void* amemalign(size_t alignment, size_t count, size_t size) HEAPLAB_NOEXCEPT;

/* As amemalign, all bytes zero; alignment and zero-fill stick. */
void* cmemalign(size_t alignment, size_t count, size_t size) HEAPLAB_NOEXCEPT;

/* ---- A new size without the old contents ---- */

/* A block of `size` bytes in place of `block` (null: a new one), faster than realloc because nothing is
   copied. Contents are undefined and nothing sticks any more. `block` is gone whatever the result is. */
void* resize(void* block, size_t size) HEAPLAB_NOEXCEPT;

/* As resize(block, count * size). */
void* resizearray(void* block, size_t count, size_t size) HEAPLAB_NOEXCEPT;

/* As resize, with an alignment, which sticks. EINVAL leaves `block` as it is. */
void* aligned_resize(void* block, size_t alignment, size_t size) HEAPLAB_NOEXCEPT;

/* As aligned_resize(block, alignment, count * size). */
void* aligned_resizearray(void* block, size_t alignment, size_t count, size_t size) HEAPLAB_NOEXCEPT;

/* ---- A new size with the old contents ---- */

/* As realloc(block, size), with a new alignment in place of the one that sticks. Zero-fill is kept. Unlike
   realloc, a size of 0 frees nothing: the result is a block. On failure `block` is untouched. */
void* aligned_realloc(void* block, size_t alignment, size_t size) HEAPLAB_NOEXCEPT;

/* As aligned_realloc(block, alignment, count * size). */
void* aligned_reallocarray(void* block, size_t alignment, size_t count, size_t size) HEAPLAB_NOEXCEPT;

/* As realloc, but the pointer is replaced in place, and only on success: a failure cannot leak the block.
   `*block` may be null; a size of 0 frees nothing. Returns 0 or ENOMEM; errno is not used. */
int posix_realloc(void** block, size_t size) HEAPLAB_NOEXCEPT;

/* As posix_realloc(block, count * size). */
int posix_reallocarray(void** block, size_t count, size_t size) HEAPLAB_NOEXCEPT;

/* As posix_realloc, with a new alignment, as for posix_memalign a power of two and a multiple of
   sizeof(void*). Returns 0, ENOMEM or EINVAL. */
int posix_aligned_realloc(void** block, size_t alignment, size_t size) HEAPLAB_NOEXCEPT;

/* As posix_aligned_realloc(block, alignment, count * size). */
int posix_aligned_reallocarray(void** block, size_t alignment, size_t count, size_t size) HEAPLAB_NOEXCEPT;

/* ---- What is known of a block (null, or a live block) ---- */

/* The alignment that sticks to it; 16 for null and where none was asked for. */
size_t malloc_alignment(void* block) HEAPLAB_NOEXCEPT;

/* Whether it is zero-filled; false for null. */
bool malloc_zero_fill(void* block) HEAPLAB_NOEXCEPT;

/* The bytes asked for (malloc_usable_size tells the bytes that may be used); 0 for null. */
size_t malloc_request_size(void* block) HEAPLAB_NOEXCEPT;

/* Whether another thread's heap owns it. False for null and for blocks with a mapping of their own. */
bool malloc_remote(void* block) HEAPLAB_NOEXCEPT;

/* ---- Statistics ----
   malloc_stats (of <malloc.h>) prints what the heaps hold and, in llheap-stats and llheap-debug, a row for
   each routine: calls, calls for 0 bytes, bytes requested, bytes handed out, bytes taken back. The
   environment variable MALLOC_STATS has it printed at the end of the process. */

/* Where malloc_stats and heap_stats write from now on; at first standard error. Returns the one before. */
int malloc_stats_fd(int fd) HEAPLAB_NOEXCEPT;

/* Whether malloc_stats also lists the free blocks of each bucket; at first not, unless MALLOC_STATS=1.
   Returns the setting before. */
bool malloc_stats_all(bool with_buckets) HEAPLAB_NOEXCEPT;

/* Rows of routines count from zero again. */
void malloc_stats_clear(void) HEAPLAB_NOEXCEPT;

/* Prints the rows of the calling thread's heap alone (all zero without statistics). */
void heap_stats(void) HEAPLAB_NOEXCEPT;

/* ---- Decisions of the program ----
   A program that defines one of these functions replaces a limit. They are called once, before the first
   block is served, and must not allocate. Values out of range are brought into it. With LD_PRELOAD the
   program has to be linked with -rdynamic, so that the library finds them. */

/* Address space to take from the system at a time; from the thread buffer's size to 1 TiB; 128 MiB. */
size_t malloc_heap_extend(void);

/* What a thread carves from it for itself; 64 KiB to 64 MiB; 2 MiB. */
size_t malloc_thread_extend(void);

/* Heaps of threads made at a time; 1 to 4096; 32. */
size_t malloc_thread_block(void);

/* Requests above this have mappings of their own; at most 64 MiB; 32 MiB. mallopt(M_MMAP_THRESHOLD, n)
   changes it later. */
size_t malloc_mmap_start(void);

/* Bytes that llheap-debug does not count as unfreed at the end of the process; 0. Called at the end. */
size_t malloc_unfreed(void);

#ifdef __cplusplus
}
#endif
#undef HEAPLAB_NOEXCEPT

#endif
