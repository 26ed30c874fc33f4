// Which blocks of a span lie in which of its pages. `color`: of the span (size_classes.h).
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "allocators/scalloc/policy/size_classes.h"
#include "base/bits.h"
#include "base/narrow.h"
#include "base/os_pages.h"

namespace heaplab::scalloc {

// Numbers of blocks, from `first` up to but not including `end`.
struct block_range {
  std::uint32_t first, end;
};

inline std::uint32_t pages_of(const size_class& kind) {
  return narrow<std::uint32_t>(align_up(kind.real_span_bytes, os_pages::page_bytes()) /
                               os_pages::page_bytes());
}

// The blocks that begin before byte `offset`.
inline std::uint32_t blocks_before(std::size_t offset, const size_class& kind, std::uint32_t color) {
  const std::size_t bytes = offset - std::min<std::size_t>(offset, color);
  const std::size_t count = (bytes + kind.block_bytes - 1) / kind.block_bytes;
  return narrow<std::uint32_t>(std::min<std::size_t>(count, kind.blocks));
}

// The blocks whose first byte is in the page.
inline block_range blocks_beginning_in(std::uint32_t page, const size_class& kind, std::uint32_t color) {
  const std::size_t begin = page * os_pages::page_bytes();
  return {blocks_before(begin, kind, color), blocks_before(begin + os_pages::page_bytes(), kind, color)};
}

// The blocks that have any byte in the page.
inline block_range blocks_touching(std::uint32_t page, const size_class& kind, std::uint32_t color) {
  const std::size_t begin = page * os_pages::page_bytes();
  const std::size_t bytes = begin - std::min<std::size_t>(begin, color);
  const std::uint32_t end = blocks_before(begin + os_pages::page_bytes(), kind, color);
  return {std::min(narrow<std::uint32_t>(bytes / kind.block_bytes), end), end};
}

// `holes` as in the record of a span: bit p stands for page p.
inline std::uint32_t blocks_in_holes(std::uint32_t holes, const size_class& kind, std::uint32_t color) {
  std::uint32_t count = 0;
  for (; holes != 0; holes &= holes - 1) {
    const auto page = static_cast<std::uint32_t>(std::countr_zero(holes));
    const block_range in = blocks_beginning_in(page, kind, color);
    count += in.end - in.first;
  }
  return count;
}

}  // namespace heaplab::scalloc
