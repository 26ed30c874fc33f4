// Marks in a large block that the program has not written yet. They show later whether it has filled the
// block, also with zeros, and without a system call that tells which pages are there: a seccomp filter may
// end the process at such a call.
//
// The marks lie close together, within one huge page: where the system gives huge pages unasked, they cost
// one. A program that has overwritten all of them writes at least there without gaps, which is what huge
// pages need.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/os_pages.h"

namespace heaplab::scalloc {

inline constexpr unsigned mark_count = 4;
// Nothing that programs often write.
inline constexpr std::uint32_t mark_value = 0x5CA1'10C5;

// The place of a mark in a block of at least `least` bytes, a power of two of at least 4 MiB: in uneven pages
// of the 1 MiB from three quarters on, where a program comes late that fills the block from its start.
inline std::size_t mark_offset(unsigned number, std::size_t least) {
  const std::size_t page = os_pages::page_bytes();
  const std::size_t pages_apart = (std::size_t{1} << 20) / page / mark_count;
  const std::size_t pages_on = number * pages_apart + (number * 7 + 3) % pages_apart;
  return least / 4 * 3 + pages_on * page;
}

inline void write_marks(char* block, std::size_t least) {
  for (unsigned number = 0; number < mark_count; ++number)
    *reinterpret_cast<std::uint32_t*>(block + mark_offset(number, least)) = mark_value;
}

// Whether the program has overwritten every mark. Other threads may write to the pages or give them back
// meanwhile.
template <class Platform>
bool marks_are_gone(const char* block, std::size_t least) {
  for (unsigned number = 0; number < mark_count; ++number)
    if (!Platform::differs_from(reinterpret_cast<const std::uint32_t*>(block + mark_offset(number, least)),
                                mark_value))
      return false;
  return true;
}

}  // namespace heaplab::scalloc
