// The expected state of all blocks, kept outside the heap under test.
#pragma once

#include <malloc.h>

#include <algorithm>
#include <bit>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

#include "base/assertion.h"
#include "check/model/operation.h"

namespace heaplab::check {

// Describes a fault and ends the process.
class verdict {
public:
  static constexpr std::size_t longest = 256;
  // The buffer of the message: memory shared with the process that waits for this one.
  static inline char* text = nullptr;

  [[noreturn, gnu::format(printf, 1, 2)]] static void fault(const char* format, ...) {
    HEAPLAB_ASSERT(text != nullptr);
    va_list arguments;
    va_start(arguments, format);
    std::vsnprintf(text, longest, format, arguments);
    va_end(arguments);
    std::_Exit(1);
  }
};

// Visits the bytes of a block that are written and checked: all bytes of a small block; of a large block both
// ends and one byte in every 16 KiB between.
template <class Visit>
void visit_sample(std::size_t bytes, Visit visit) {
  constexpr std::size_t whole = 16 << 10;
  constexpr std::size_t end = 4 << 10;
  if (bytes <= whole) {
    for (std::size_t i = 0; i < bytes; ++i) visit(i);
    return;
  }
  for (std::size_t i = 0; i < end; ++i) visit(i);
  for (std::size_t i = end; i < bytes - end; i += whole) visit(i);
  for (std::size_t i = bytes - end; i < bytes; ++i) visit(i);
}

class shadow_heap {
public:
  void perform(const operation& one) {
    HEAPLAB_ASSERT(one.slot < slot_count);
    HEAPLAB_ASSERT(one.alignment >= 8 && std::has_single_bit(one.alignment));
    block& target = blocks_[one.slot];
    switch (one.function) {
      case call::end_thread:
        return;
      case call::free:
        return release(target);
      case call::realloc:
        return resize(target, one);
      default:
        release(target);
        return enter(target, allocate(one), one);
    }
  }

  void release_all() {
    for (block& one : blocks_) release(one);
  }

private:
  struct block {
    unsigned char* start;  // null: no block
    std::size_t size;      // as requested
    std::size_t usable;    // the result of malloc_usable_size; the block is filled up to here
    unsigned char seed;    // of the pattern in the block
    bool of_new;
  };

  static unsigned char pattern(const block& one, std::size_t index) {
    return static_cast<unsigned char>(one.seed + index * 7 + (index >> 8));
  }

  unsigned number_of(const block& one) const { return static_cast<unsigned>(&one - blocks_); }

  // A multiple of the alignment, as C11 demanded: some allocators keep to that rule, which C17 dropped, and
  // the contract's tests say so.
  static std::size_t size_for_aligned_alloc(const operation& one) {
    return (one.size + one.alignment - 1) / one.alignment * one.alignment;
  }

  static void* allocate(const operation& one) {
    void* result = nullptr;
    switch (one.function) {
      case call::calloc:
        return std::calloc(one.size, 1);
      case call::aligned_alloc:
        return aligned_alloc(one.alignment, size_for_aligned_alloc(one));
      case call::operator_new:
        return ::operator new(one.size, std::nothrow);
      case call::posix_memalign:
        return posix_memalign(&result, one.alignment, one.size) == 0 ? result : nullptr;
      default:
        return std::malloc(one.size);
    }
  }

  // Checks a new block and fills it.
  void enter(block& target, void* address, const operation& one) {
    if (address == nullptr) verdict::fault("block[%u]: no memory", number_of(target));
    block fresh = {static_cast<unsigned char*>(address), one.size, malloc_usable_size(address), ++seed_,
                   one.function == call::operator_new};
    check_place(fresh, one);
    if (one.function == call::calloc) check_zero(target, fresh);
    visit_sample(fresh.usable, [&](std::size_t i) { fresh.start[i] = pattern(fresh, i); });
    target = fresh;
  }

  void check_place(const block& fresh, const operation& one) const {
    const bool asked = one.function == call::posix_memalign || one.function == call::aligned_alloc;
    // C23: the block is aligned for every type that is no larger than the block.
    const std::size_t fitting = std::min(std::bit_floor(std::max(one.size, std::size_t{1})), std::size_t{16});
    const std::size_t alignment = asked ? std::max(one.alignment, fitting) : fitting;
    if (reinterpret_cast<std::uintptr_t>(fresh.start) % alignment != 0)
      verdict::fault("block[%u] at %p is not aligned to %zu", unsigned{one.slot},
                     static_cast<void*>(fresh.start), alignment);
    if (fresh.usable < fresh.size)
      verdict::fault("block[%u] of %zu bytes has a usable size of %zu", unsigned{one.slot}, fresh.size,
                     fresh.usable);
    for (const block& other : blocks_) {
      if (other.start == nullptr || number_of(other) == one.slot) continue;
      if (fresh.start < other.start + other.usable && other.start < fresh.start + fresh.usable)
        verdict::fault("block[%u] overlaps block[%u] by its usable size", unsigned{one.slot},
                       number_of(other));
    }
  }

  void check_zero(const block& target, const block& fresh) const {
    if (fresh.size == 0) return;
    if (fresh.start[0] != 0 || std::memcmp(fresh.start, fresh.start + 1, fresh.size - 1) != 0)
      verdict::fault("block[%u] from calloc is not zero", number_of(target));
  }

  // Checks the first `bytes` bytes.
  void check_contents(const block& one, std::size_t bytes, const unsigned char* where) const {
    visit_sample(one.usable, [&](std::size_t i) {
      if (i < bytes && where[i] != pattern(one, i))
        verdict::fault("block[%u] of %zu bytes, usable %zu, has lost its contents at %zu", number_of(one),
                       one.size, one.usable, i);
    });
  }

  void release(block& one) {
    if (one.start == nullptr) return;
    check_contents(one, one.usable, one.start);
    if (one.of_new)
      ::operator delete(one.start);
    else
      std::free(one.start);
    one.start = nullptr;
  }

  void resize(block& target, const operation& one) {
    if (target.start == nullptr || target.of_new || one.size == 0) {
      release(target);
      return enter(target, std::realloc(nullptr, one.size), one);
    }
    const block before = target;
    check_contents(target, before.usable, before.start);
    void* const moved = std::realloc(before.start, one.size);
    if (moved == nullptr) verdict::fault("block[%u]: no memory", number_of(target));
    check_contents(target, std::min(before.size, one.size), static_cast<unsigned char*>(moved));
    enter(target, moved, one);
  }

  block blocks_[slot_count] = {};
  unsigned char seed_ = 0;
};

}  // namespace heaplab::check
