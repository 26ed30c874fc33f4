#pragma once

#include <cstddef>

#include "allocators/scalloc/spans/span.h"
#include "base/os_pages.h"

namespace heaplab::scalloc {

// realloc to a smaller size stays in place unless it would use at most 1/N of the block. A larger N copies
// less and leaves more of a block unused.
inline constexpr std::size_t shrink_divisor = 2;

// Whether a block with `usable` bytes may have been allocated for `bytes`, the size that a sized delete
// passes. `span` is the block's, null for a large block.
template <class Traits>
bool may_be_size_of(const span<Traits>* span, std::size_t usable, std::size_t bytes, std::size_t alignment,
                    bool was_resized) {
  using classes = typename Traits::classes;
  constexpr const auto& config = Traits::config;
  if (bytes > usable || usable == 0) return bytes == usable;
  // realloc has left more of the block unused, at most.
  if (was_resized && bytes > usable / shrink_divisor) return true;
  // A large block, rounded up to pages, or one that serves where no span was left.
  if (span == nullptr)
    return bytes <= config.span_request_limit() || usable - bytes < os_pages::huge_page_bytes;
  const unsigned index = classes::index_of_aligned(alignment, bytes + config.canary_bytes);
  return index < classes::count && classes::table[index].block_bytes == span->secrets.block_bytes();
}

}  // namespace heaplab::scalloc
