// Heaps with one fault each, to see that the tests of allocators find it. Over bump, which has none of them.
//
//   overlapping   hands out the block before once more while it is still in use (1000 bytes and more: smaller
//                 ones are what a program itself is made of, and it would only crash)
//   misaligned    a block 8 bytes off, with or without an alignment asked for
//   forgetful     realloc keeps only the first half of a block that moves
//   unclean       calloc leaves a byte that is not zero, the last one
//
// Each strikes at every 20th call of a thread that could go wrong.
#pragma once

#include <cstring>

#include "allocators/bump/bump_heap.h"

namespace heaplab::planted {

using bump::bump_heap;

inline bool strikes(unsigned& calls) {
  return ++calls % 20 == 0;
}

class overlapping : public bump_heap {
public:
  static constexpr const char* name = "overlapping";

  static void* allocate(std::size_t size) noexcept {
    if (size < 1000) return bump_heap::allocate(size);
    if (last_ != nullptr && usable_size(last_) >= size && strikes(calls_)) return last_;
    return last_ = bump_heap::allocate(size);
  }

  static void deallocate(void* block) noexcept {
    if (block == last_) last_ = nullptr;
  }

private:
  static constinit inline thread_local void* last_ = nullptr;
  static constinit inline thread_local unsigned calls_ = 0;
};

class misaligned : public bump_heap {
public:
  static constexpr const char* name = "misaligned";

  static void* allocate(std::size_t size) noexcept {
    if (size > PTRDIFF_MAX || !strikes(calls_)) return bump_heap::allocate(size);
    return move_off(bump_heap::allocate(size + off));
  }

  static void* allocate_aligned(std::size_t alignment, std::size_t size) noexcept {
    if (!strikes(calls_)) return bump_heap::allocate_aligned(alignment, size);
    return move_off(bump_heap::allocate_aligned(alignment, size + off));
  }

private:
  static constexpr std::size_t off = 8;

  // The length stands before a block, as bump has it.
  static void* move_off(void* block) {
    if (block == nullptr) return nullptr;
    static_cast<std::size_t*>(block)[0] = usable_size(block) - off;
    return static_cast<char*>(block) + off;
  }

  static constinit inline thread_local unsigned calls_ = 0;
};

class forgetful : public bump_heap {
public:
  static constexpr const char* name = "forgetful";

  static void* reallocate(void* block, std::size_t size) noexcept {
    const std::size_t before = usable_size(block);
    if (size <= before || !strikes(calls_)) return bump_heap::reallocate(block, size);
    void* const moved = allocate(size);
    if (moved != nullptr) std::memcpy(moved, block, before / 2);
    return moved;
  }

private:
  static constinit inline thread_local unsigned calls_ = 0;
};

class unclean : public bump_heap {
public:
  static constexpr const char* name = "unclean";

  static void* allocate_zeroed(std::size_t size) noexcept {
    void* const block = bump_heap::allocate_zeroed(size);
    if (block != nullptr && size != 0 && strikes(calls_)) static_cast<char*>(block)[size - 1] = 1;
    return block;
  }

private:
  static constinit inline thread_local unsigned calls_ = 0;
};

}  // namespace heaplab::planted
