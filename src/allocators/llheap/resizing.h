// realloc and its relatives, in two families. `reallocate` keeps the contents and the sticky properties of a
// block (alignment, zero-fill); `resize` keeps neither and never copies.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "allocators/llheap/block.h"
#include "allocators/llheap/size_classes.h"
#include "base/bits.h"

namespace heaplab::llheap {

template <class Core>
class resizing {
public:
  // Null: out of memory, block untouched; only if size is larger than what is usable.
  static void* reallocate(void* user, std::size_t size) noexcept {
    block_view block(user);
    if (fits_in_place(block, size)) return keep(block, user, size);
    if (block.is(mapped) && !block.has_mark() && size > Core::storage().mapping_threshold())
      if (void* const resized = resize_mapping(block, size)) return resized;
    void* const moved = move(block, user, block.alignment(), size);
    if (moved == nullptr && size <= block.usable()) return keep(block, user, size);
    return moved;
  }

  // As reallocate; `alignment` replaces the block's present alignment.
  static void* reallocate_aligned(void* user, std::size_t alignment, std::size_t size) noexcept {
    block_view block(user);
    alignment = std::max(alignment, minimum_alignment);
    if (!can_record(block, user, alignment)) return move(block, user, alignment, size);
    const std::size_t before = block.alignment();
    block.set_alignment(alignment);
    void* const result = reallocate(user, size);
    if (result == nullptr) block.set_alignment(before);
    return result;
  }

  // The old block is no longer live, whatever the result.
  static void* resize(void* user, std::size_t size) noexcept {
    return resize_aligned(user, minimum_alignment, size);
  }

  static void* resize_aligned(void* user, std::size_t alignment, std::size_t size) noexcept {
    block_view block(user);
    alignment = std::max(alignment, minimum_alignment);
    if (can_record(block, user, alignment) && fits_in_place(block, size)) {
      block.clear(zero_filled);
      block.set_alignment(alignment);
      return keep(block, user, size);
    }
    Core::deallocate(user);
    return Core::allocate_aligned(alignment, size);
  }

private:
  // Whether the block has room for `size` and is used well enough: by the share of shrink_divisor, or as well
  // as a block of its own would be.
  static bool fits_in_place(const block_view& block, std::size_t size) {
    if (size > block.usable()) return false;
    if (block.usable() / Core::settings.shrink_divisor <= size) return true;
    const std::size_t room = block.has_mark() ? bytes_to_align(block.alignment()) : 0;
    return !block.is(mapped) && bucket_of(size + room) == block.bucket();
  }

  // Whether the block can have this alignment where it lies: the address is aligned, and a mark can record
  // the alignment.
  static bool can_record(const block_view& block, const void* user, std::size_t alignment) {
    return is_aligned(user, alignment) && (block.has_mark() || alignment == minimum_alignment);
  }

  static void* keep(block_view& block, void* user, std::size_t size) {
    if (block.is(zero_filled) && size < block.request())
      std::memset(static_cast<char*>(user) + size, 0, block.usable() - size);
    block.set_request(size);
    return user;
  }

  static void* resize_mapping(block_view& block, std::size_t size) {
    header* const moved = size > PTRDIFF_MAX ? nullptr : Core::mapped_blocks().resize(block.real(), size);
    if (moved == nullptr) return nullptr;
    block_view now(moved + 1);
    return keep(now, moved + 1, size);
  }

  static void* move(const block_view& block, void* user, std::size_t alignment, std::size_t size) {
    void* const moved = block.is(zero_filled) ? Core::allocate_aligned_zeroed(alignment, size)
                                              : Core::allocate_aligned(alignment, size);
    if (moved == nullptr) return nullptr;
    std::memcpy(moved, user, std::min(block.usable(), size));
    Core::deallocate(user);
    return moved;
  }
};

}  // namespace heaplab::llheap
