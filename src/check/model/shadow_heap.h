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
  void perform(const operation& step) {
    HEAPLAB_ASSERT(step.slot < slot_count);
    HEAPLAB_ASSERT(step.alignment >= 8 && std::has_single_bit(step.alignment));
    block& target = blocks_[step.slot];
    switch (step.function) {
      case call::end_thread:
        return;
      case call::free:
        return release(target);
      case call::realloc:
        return resize(target, step);
      default:
        release(target);
        return enter(target, allocate(step), step);
    }
  }

  void release_all() {
    for (block& held : blocks_) release(held);
  }

private:
  struct block {
    unsigned char* start;  // null: no block
    std::size_t size;      // as requested
    std::size_t usable;    // the result of malloc_usable_size; the block is filled up to here
    unsigned char seed;    // of the pattern in the block
    bool of_new;
  };

  static unsigned char pattern(const block& held, std::size_t index) {
    return static_cast<unsigned char>(held.seed + index * 7 + (index >> 8));
  }

  unsigned number_of(const block& held) const { return static_cast<unsigned>(&held - blocks_); }

  // A multiple of the alignment, as C11 demanded: some allocators keep to that rule, which C17 dropped, and
  // the contract's tests say so.
  static std::size_t size_for_aligned_alloc(const operation& step) {
    return (step.size + step.alignment - 1) / step.alignment * step.alignment;
  }

  static void* allocate(const operation& step) {
    void* result = nullptr;
    switch (step.function) {
      case call::calloc:
        return std::calloc(step.size, 1);
      case call::aligned_alloc:
        return aligned_alloc(step.alignment, size_for_aligned_alloc(step));
      case call::operator_new:
        return ::operator new(step.size, std::nothrow);
      case call::posix_memalign:
        return posix_memalign(&result, step.alignment, step.size) == 0 ? result : nullptr;
      default:
        return std::malloc(step.size);
    }
  }

  // Checks a new block and fills it.
  void enter(block& target, void* address, const operation& step) {
    if (address == nullptr) verdict::fault("block[%u]: no memory", number_of(target));
    block fresh = {static_cast<unsigned char*>(address), step.size, malloc_usable_size(address), ++seed_,
                   step.function == call::operator_new};
    check_place(fresh, step);
    if (step.function == call::calloc) check_zero(target, fresh);
    visit_sample(fresh.usable, [&](std::size_t i) { fresh.start[i] = pattern(fresh, i); });
    target = fresh;
  }

  void check_place(const block& fresh, const operation& step) const {
    const bool asked = step.function == call::posix_memalign || step.function == call::aligned_alloc;
    // C23: the block is aligned for every type that is no larger than the block.
    const std::size_t fitting =
        std::min(std::bit_floor(std::max(step.size, std::size_t{1})), std::size_t{16});
    const std::size_t alignment = asked ? std::max(step.alignment, fitting) : fitting;
    if (reinterpret_cast<std::uintptr_t>(fresh.start) % alignment != 0)
      verdict::fault("block[%u] at %p is not aligned to %zu", unsigned{step.slot},
                     static_cast<void*>(fresh.start), alignment);
    if (fresh.usable < fresh.size)
      verdict::fault("block[%u] of %zu bytes has a usable size of %zu", unsigned{step.slot}, fresh.size,
                     fresh.usable);
    for (const block& other : blocks_) {
      if (other.start == nullptr || number_of(other) == step.slot) continue;
      if (fresh.start < other.start + other.usable && other.start < fresh.start + fresh.usable)
        verdict::fault("block[%u] overlaps block[%u] by its usable size", unsigned{step.slot},
                       number_of(other));
    }
  }

  void check_zero(const block& target, const block& fresh) const {
    if (fresh.size == 0) return;
    if (fresh.start[0] != 0 || std::memcmp(fresh.start, fresh.start + 1, fresh.size - 1) != 0)
      verdict::fault("block[%u] from calloc is not zero", number_of(target));
  }

  // Checks the first `bytes` bytes.
  void check_contents(const block& held, std::size_t bytes, const unsigned char* where) const {
    visit_sample(held.usable, [&](std::size_t i) {
      if (i < bytes && where[i] != pattern(held, i))
        verdict::fault("block[%u] of %zu bytes, usable %zu, has lost its contents at %zu", number_of(held),
                       held.size, held.usable, i);
    });
  }

  void release(block& held) {
    if (held.start == nullptr) return;
    check_contents(held, held.usable, held.start);
    if (held.of_new)
      ::operator delete(held.start);
    else
      std::free(held.start);
    held.start = nullptr;
  }

  void resize(block& target, const operation& step) {
    if (target.start == nullptr || target.of_new || step.size == 0) {
      release(target);
      return enter(target, std::realloc(nullptr, step.size), step);
    }
    const block before = target;
    check_contents(target, before.usable, before.start);
    void* const moved = std::realloc(before.start, step.size);
    if (moved == nullptr) verdict::fault("block[%u]: no memory", number_of(target));
    check_contents(target, std::min(before.size, step.size), static_cast<unsigned char*>(moved));
    enter(target, moved, step);
  }

  block blocks_[slot_count] = {};
  unsigned char seed_ = 0;
};

}  // namespace heaplab::check
