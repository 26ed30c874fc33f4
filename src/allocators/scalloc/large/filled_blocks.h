// Whether a program has filled a large block, judged by a few of its pages, or by marks: decides whether such
// blocks get huge pages, and whether the hardened heap retains the block (large_mappings.h).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "base/bits.h"
#include "base/os_pages.h"

namespace heaplab::scalloc {

// The pages that were looked at, and those of them that hold data. The others are zero, never written, or
// not to be read.
struct page_sample {
  std::size_t looked_at = 0, with_data = 0;

  bool is_full() const { return with_data == looked_at; }
  // At least two thirds hold data: the end of a block that was rounded up to huge pages holds none.
  bool is_filled() const { return 3 * with_data >= 2 * looked_at; }
};

// Looks at the first page of each of `parts` equal parts, or at every page if there are fewer.
// `only_while_full`: the look ends at the first page without data. Precondition: `start` is a page.
template <class Platform>
page_sample sample_pages(const char* start, std::size_t bytes, std::size_t parts, bool only_while_full) {
  const std::size_t page = os_pages::page_bytes();
  const std::size_t stride = std::max(page, align_down(bytes / parts, page));
  page_sample result;
  while (result.looked_at < parts && result.looked_at * stride < bytes) {
    if (only_while_full && !result.is_full()) break;
    if (Platform::holds_data(start + result.looked_at * stride)) ++result.with_data;
    ++result.looked_at;
  }
  return result;
}

// Whether a page of each of `parts` equal parts begins with data. Other threads may write to the pages or
// give them back meanwhile. The pages are at uneven distances: a program may touch a large block at even
// ones.
template <class Platform>
bool is_being_filled(const char* start, std::size_t bytes, std::size_t parts) {
  const std::size_t page = os_pages::page_bytes(), stride = align_down(bytes / parts, page);
  for (std::size_t part = 0; part < parts; ++part) {
    const std::size_t pages_on = (part + 1) * 0x9E37'79B9U % (stride / page);
    if (!Platform::holds_word(start + part * stride + pages_on * page)) return false;
  }
  return true;
}

// --- marks in a large block that the program has not written yet ---
//
// They show later whether it has filled the block, also with zeros, and without a system call that tells
// which pages are there: a seccomp filter may end the process at such a call.
//
// The marks lie close together, within one huge page: where the system gives huge pages unasked, they cost
// one. A program that has overwritten all of them writes at least there without gaps, which is what huge
// pages need.

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
