// The functions that an allocator must have for src/shim to make a malloc of the allocator.
//
// A heap is a type with static member functions and without a constructor to run, because the first malloc of
// a process comes before any constructor. Every function may be called at any time, by any thread, also while
// a thread ends. No function changes errno: the shim turns a null result into ENOMEM.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstring>

namespace heaplab {

// Every block is aligned to this at least: alignof(std::max_align_t), whatever its size.
inline constexpr std::size_t heap_alignment = 16;

// The account of a heap for mallinfo2, malloc_stats and malloc_info. All in bytes, but for `mappings` and
// `free_blocks`.
struct heap_statistics {
  std::size_t reserved = 0;   // address space held
  std::size_t committed = 0;  // of that: memory the heap has touched and not given back
  std::size_t live = 0;       // of that: in blocks handed out, by size class
  std::size_t mapped = 0;     // in blocks with a mapping of their own, which `committed` does not count
  std::size_t mappings = 0;   // how many of those
  // Blocks that the program does not hold and the heap can hand out, as far as the heap has made blocks of
  // its memory.
  std::size_t free_blocks = 0;
};

template <class Heap>
concept heap = requires(std::size_t size, std::size_t alignment, void* block, int fd) {
  // A name as in lib<name>.so.
  { Heap::name } -> std::convertible_to<const char*>;
  // At least `size` bytes (0 asks for the smallest block), aligned to heap_alignment. Null: out of memory, or
  // `size` is above PTRDIFF_MAX. The shim checks the size for all other functions. Here the heap checks, off
  // its fast path, so that the fast path has no check.
  { Heap::allocate(size) } noexcept -> std::same_as<void*>;
  // As allocate, all bytes zero.
  { Heap::allocate_zeroed(size) } noexcept -> std::same_as<void*>;
  // As allocate, aligned to `alignment`, a power of two above heap_alignment. alignment + size does not
  // exceed PTRDIFF_MAX.
  { Heap::allocate_aligned(alignment, size) } noexcept -> std::same_as<void*>;
  // Takes a block back; `block` is never null. fatal() for a pointer that the heap recognises as no live
  // block.
  { Heap::deallocate(block) } noexcept -> std::same_as<void>;
  // Bytes that may be used in the block; never null; at least what was asked for.
  { Heap::usable_size(block) } noexcept -> std::same_as<std::size_t>;
  // Grows or shrinks to `size` > 0; contents kept up to the smaller size; may move. Null: out of memory,
  // block untouched.
  { Heap::reallocate(block, size) } noexcept -> std::same_as<void*>;
  // Gives unused memory back to the system, keeping about `size` (a pad) bytes. True if any was given back.
  { Heap::trim(size) } noexcept -> std::same_as<bool>;
  { Heap::statistics() } noexcept -> std::same_as<heap_statistics>;
  // Called in the child of fork(2), where of all threads only the forking thread exists. Data that other
  // threads were changing are as they were at that instruction, and locks that they held are held.
  { Heap::after_fork_in_child() } noexcept -> std::same_as<void>;
  // Writes a human-readable account to a file descriptor without allocating.
  { Heap::print_statistics(fd) } noexcept -> std::same_as<void>;
};

// A heap that must know its process declares `begin_process`, which is called when the library has been
// loaded. The first allocation may come earlier, or in a child of vfork, which has its parent's memory.

// A heap whose deallocate recognises null off its fast path declares `deallocates_null`. The shim then does
// not test for null: two instructions less in every free.
template <class Heap>
inline constexpr bool takes_null = [] {
  if constexpr (requires { Heap::deallocates_null; }) return bool{Heap::deallocates_null};
  return false;
}();

// A heap that checks the sizes which a program tells when it frees declares
//
//   check_size(block, size, alignment, was_resized)
//
// fatal() unless the block, which is not null, can have been allocated with this size and alignment, or, if
// `was_resized`, resized to this size.
template <class Heap>
inline constexpr bool checks_sizes =
    requires(void* block, std::size_t size) { Heap::check_size(block, size, size, true); };

// For any heap; `block` may be null.
template <class Heap>
void check_sized_free(void* block, std::size_t size, std::size_t alignment, bool was_resized) noexcept {
  if constexpr (checks_sizes<Heap>)
    if (block != nullptr) Heap::check_size(block, size, alignment, was_resized);
}

// Reallocates by copying, for a block that cannot stay in place.
template <class Heap>
void* reallocate_by_copy(void* block, std::size_t size) noexcept {
  void* const moved = Heap::allocate(size);
  if (moved == nullptr) return nullptr;
  std::memcpy(moved, block, std::min(size, Heap::usable_size(block)));
  Heap::deallocate(block);
  return moved;
}

}  // namespace heaplab
