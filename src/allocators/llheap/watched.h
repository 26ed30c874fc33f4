// The heap under observation: counts every call, and in debug builds checks every pointer that comes back
// and overwrites what must not be read. A layer above the operations, which know nothing of it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "allocators/llheap/block.h"
#include "allocators/llheap/counters.h"
#include "allocators/llheap/operations.h"
#include "base/fatal.h"
#include "base/os_pages.h"

namespace heaplab::llheap {

template <config Config, class Policy = fixed_policy<Config>, class Platform = system_platform>
class watched : public operations<Config, Policy, Platform> {
  using below = operations<Config, Policy, Platform>;

public:
  static void* allocate(std::size_t size) noexcept { return allocate_as(routine::malloc, size); }
  static void* allocate_array(std::size_t size) noexcept { return allocate_as(routine::aalloc, size); }

  static void* allocate_zeroed(std::size_t size) noexcept {
    return note(routine::calloc, size, below::allocate_zeroed(size));
  }
  static void* allocate_aligned(std::size_t alignment, std::size_t size) noexcept {
    return note(routine::memalign, size, scrub(below::allocate_aligned(alignment, size)));
  }
  static void* allocate_aligned_array(std::size_t alignment, std::size_t size) noexcept {
    return note(routine::amemalign, size, scrub(below::allocate_aligned(alignment, size)));
  }
  static void* allocate_aligned_zeroed(std::size_t alignment, std::size_t size) noexcept {
    return note(routine::cmemalign, size, below::allocate_aligned_zeroed(alignment, size));
  }

  static void deallocate(void* user) noexcept {
    check(user);
    count(routine::free, {.calls = 1, .released_bytes = below::usable_size(user)});
    scrub(user);
    below::deallocate(user);
  }

  static void* reallocate(void* user, std::size_t size) noexcept {
    return replace(routine::realloc, user, size, false, [&] { return below::reallocate(user, size); });
  }
  static void* reallocate_aligned(void* user, std::size_t alignment, std::size_t size) noexcept {
    return replace(routine::aligned_realloc, user, size, false,
                   [&] { return below::reallocate_aligned(user, alignment, size); });
  }
  static void* resize(void* user, std::size_t size) noexcept {
    return replace(routine::resize, user, size, true, [&] { return below::resize(user, size); });
  }
  static void* resize_aligned(void* user, std::size_t alignment, std::size_t size) noexcept {
    return replace(routine::aligned_resize, user, size, true,
                   [&] { return below::resize_aligned(user, alignment, size); });
  }

private:
  static void count(routine which, const routine_totals& more) {
    if (thread_heap* const mine = below::my_heap()) mine->counters.add(which, more);
  }

  static void* allocate_as(routine which, std::size_t size) {
    return note(which, size, scrub(below::allocate(size)));
  }

  static void* note(routine which, std::size_t size, void* user) {
    if (user != nullptr)
      count(which, {.calls = 1,
                    .zero_byte_calls = size == 0,
                    .requested_bytes = size,
                    .usable_bytes = below::usable_size(user)});
    return user;
  }

  // Runs `change`, which returns the new block for `user` or null; then the old one is gone if `gone`.
  template <class Change>
  static void* replace(routine which, void* user, std::size_t size, bool gone, Change change) {
    check(user);
    const std::size_t before = below::usable_size(user);
    void* const moved = change();
    if (moved != nullptr || gone) count(which, {.released_bytes = before});
    return note(which, size, moved);
  }

  // Debug: 0xff over either end of a block.
  static void* scrub(void* user) {
    if (!Config.debug || user == nullptr) return user;
    const std::size_t usable = below::usable_size(user);
    const std::size_t bytes = std::min(usable, Config.scrub_bytes);
    std::memset(user, 0xff, bytes);
    std::memset(static_cast<char*>(user) + usable - bytes, 0xff, bytes);
    return user;
  }

  // Debug: fatal unless this is a live block. Reads a header only where one can be.
  static void check(void* user) {
    if constexpr (Config.debug) {
      if (!is_aligned(user, minimum_alignment)) fatal("llheap: pointer is not aligned", user);
      const header* real = header_of(user);
      if (!can_be_read(real)) fatal("llheap: pointer is no block", user);
      if ((real->word & fake) != 0) real = real_behind(user, real);
      if (!can_be_read(real)) fatal("llheap: pointer is no block", user);
      // The home word of a free block is a link: nothing may be computed from it.
      if ((real->word & freed) != 0) fatal("llheap: double free", user);
      const bool is_block = below::storage().is_in_area(real) ? names_a_heap(real->word)
                                                              : mappings<Platform>::can_be_header(real);
      if (!is_block) fatal("llheap: pointer is no block", user);
    }
  }

  static const header* real_behind(void* user, const header* mark) {
    return reinterpret_cast<const header*>(reinterpret_cast<std::uintptr_t>(user) -
                                           (mark->word & ~flag_bits));
  }

  // Whether there is memory at all.
  static bool can_be_read(const header* place) {
    return below::storage().is_in_area(place) || os_pages::is_readable(place);
  }

  static bool names_a_heap(std::uintptr_t word) {
    bool found = false;
    below::storage().for_each_heap([&](const thread_heap& heap) {
      found = found || (word & ~(home_alignment - 1)) == reinterpret_cast<std::uintptr_t>(&heap);
    });
    return found && ((word & bucket_bits) >> 4) < bucket_count && (word & (fake | mapped)) == 0;
  }
};

}  // namespace heaplab::llheap
