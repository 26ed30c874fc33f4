// How large blocks get their pages from the system and give them back.
//
// A block of at least `huge_block_bytes` begins at a multiple of a huge page. Such blocks do not touch each
// other, so that the kernel keeps a mapping for each; where a process has many large blocks, the next ones
// lie side by side instead, and the kernel makes one mapping of them.
//
// Blocks of at least `huge_block_bytes` consist of huge pages as soon as the program has freed such a block
// that it had filled throughout: a page fault then brings 512 pages. A program that never fills its large
// blocks gets no huge pages, and holds no more memory than it touches.
#pragma once

#include <algorithm>
#include <cstddef>

#include "allocators/scalloc/config.h"
#include "base/bits.h"
#include "base/os_pages.h"
#include "concurrent/unreturned_mappings.h"

namespace heaplab::scalloc {

template <class Traits>
class large_mappings {
  using platform = typename Traits::platform;
  static constexpr const config& settings = Traits::settings;
  static constexpr std::size_t huge_page = os_pages::huge_page_bytes;

public:
  // Called before a second thread can call anything here.
  void allow_huge_pages() { may_be_huge_ = true; }

  // The size of the mapping for a block of `bytes`.
  std::size_t rounded(std::size_t bytes) const {
    const bool huge = wants_huge_.load(std::memory_order_relaxed) && is_huge(bytes);
    return align_up(std::max(bytes, std::size_t{1}), huge ? huge_page : os_pages::page_bytes());
  }

  // Zeroed pages. A block that can hold huge pages begins at one even before huge pages are wanted, because
  // the kernel then moves whole page tables when the block is resized. `sparse`: the block may have a mapping
  // of the kernel's own. Null: no memory.
  char* map(std::size_t bytes, std::size_t alignment, bool sparse) {
    void* block = unreturned_.try_take(bytes, alignment);
    if (block == nullptr && sparse && is_huge(bytes))
      block = platform::allocate(bytes, std::max(alignment, huge_page));
    if (block == nullptr) block = platform::allocate(bytes, alignment);
    return with_huge_pages(block, bytes);
  }

  // Null: the system refuses, and nothing has changed.
  char* resize(char* block, std::size_t before, std::size_t bytes) const {
    void* const resized = is_huge(bytes) && bytes > before
                              ? platform::remap_aligned(block, before, bytes, huge_page)
                              : platform::remap(block, before, bytes);
    return with_huge_pages(resized, bytes);
  }

  void give_back(void* block, std::size_t bytes) { unreturned_.give_back(block, bytes); }

  // Asks the system again to take what it has refused to take. True if the system took some.
  bool give_refused_back() { return unreturned_.give_all_back(); }

  // Decides from a block that is being freed whether the program fills its large blocks: looks at one page in
  // each of huge_page_samples equal parts.
  void learn(const char* block, std::size_t bytes) {
    if (!may_be_huge_ || wants_huge_.load(std::memory_order_relaxed) || !is_huge(bytes)) return;
    const std::size_t stride = align_down(bytes / settings.huge_page_samples, os_pages::page_bytes());
    for (std::size_t at = 0; at < bytes; at += stride)
      if (!platform::holds_data(block + at)) return;
    wants_huge_.store(true, std::memory_order_relaxed);
  }

private:
  static bool is_huge(std::size_t bytes) { return bytes >= settings.huge_block_bytes; }

  char* with_huge_pages(void* block, std::size_t bytes) const {
    if (block != nullptr && is_huge(bytes) && wants_huge_.load(std::memory_order_relaxed))
      platform::advise_huge(block, bytes, true);
    return static_cast<char*>(block);
  }

  concurrent::unreturned_mappings<typename Traits::sync, platform> unreturned_;
  bool may_be_huge_ = false;
  // relaxed: a hint for the next block, which publishes nothing.
  typename Traits::template atomic<bool> wants_huge_{false};
};

}  // namespace heaplab::scalloc
