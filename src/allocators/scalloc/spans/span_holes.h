// Holes: whole pages of a span in use that hold nothing but free blocks. The blocks that begin in such a page
// leave their lists, since a link would keep the page; the record of the span names the page instead.
//
// Rules that let the owner, and other threads, free blocks of the span at the same time:
//
//   They only put blocks in front of the first block of a list. So that block stays, and with it the page
//   that has its link; of the other links the sweep may change every one.
//
//   Nobody takes blocks from the span: the span is not hot, and becomes hot only under the lock that the
//   caller holds.
#pragma once

#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>

#include "allocators/scalloc/policy/size_classes.h"
#include "allocators/scalloc/spans/block_pages.h"
#include "allocators/scalloc/spans/span.h"
#include "base/atomic.h"
#include "base/bits.h"
#include "base/os_pages.h"

namespace heaplab::scalloc {

// All functions are called by the holder of the lock of the lists of the span's owner, while the span is not
// hot; or for a chain of free blocks that the caller alone has.
template <class Traits>
class span_holes {
  using span_type = span<Traits>;
  static constexpr std::uint32_t most_pages = 32, most_blocks = 8'192;

public:
  span_holes(span_type& span, const size_class& kind)
      : span_(span), kind_(kind), known_(span.holes), firsts_{local_first(span), remote_first(span)} {}
  // Of the blocks of a chain alone.
  span_holes(span_type& span, const size_class& kind, void* chain)
      : span_(span), kind_(kind), known_(0), firsts_{chain, nullptr} {}

  // Whether a record can name the pages of such a span.
  static bool are_named(const size_class& kind) {
    return pages_of(kind) <= most_pages && kind.blocks <= most_blocks;
  }

  // Takes the blocks of all holes out of the lists. Returns the holes, for the record; 0 as well where a list
  // is damaged, as by a program that wrote to a freed block. Precondition: are_named(kind).
  std::uint32_t detach() {
    // Unchecked access: the checked one throws, and needs the C++ library.
    std::bitset<most_blocks> is_free;
    std::uint32_t kept = known_;
    for (void* const first : firsts_) {
      if (first == nullptr) continue;
      kept |= bit_of(first);
      if (!for_each(first, [&](void* block) { is_free[number_of(block)] = true; })) return 0;
    }
    for (std::uint32_t page = 0; page < pages_of(kind_); ++page)
      if ((known_ >> page & 1) != 0) {
        const block_range in = blocks_beginning_in(page, kind_, span_.color);
        for (std::uint32_t block = in.first; block < in.end; ++block) is_free[block] = true;
      }
    std::uint32_t found = 0;
    for (std::uint32_t page = 0; page < pages_of(kind_); ++page)
      if ((kept >> page & 1) == 0 && is_whole(page, is_free)) found |= std::uint32_t{1} << page;
    if (found == 0) return 0;
    for (void* const first : firsts_)
      if (first != nullptr) unlink(first, found);
    return found;
  }

  // Calls visit(begin, bytes) for the whole pages inside each free block that has such pages behind its link.
  // The blocks stay in their lists. For spans whose pages are not named.
  template <class Visit>
  void for_each_inside(Visit&& visit) const {
    for (void* const first : firsts_)
      for_each(first, [&](void* block) {
        const std::size_t offset = span_.offset_of(block);
        const std::size_t begin = align_up(offset + sizeof(void*), os_pages::page_bytes());
        const std::size_t end = align_down(offset + kind_.block_bytes, os_pages::page_bytes());
        if (begin < end) visit(span_.base + begin, end - begin);
      });
  }

  // The last block of the chain. Null: what follows some block is none of the span.
  void* last() const {
    void* result = nullptr;
    return for_each(firsts_[0], [&](void* block) { result = block; }) ? result : nullptr;
  }

private:
  // acquire pairs with push (freeing.h): the link of that block is visible.
  static void* local_first(span_type& span) {
    return atomic_ref<void*>(span.local_list).load(std::memory_order_acquire);
  }
  // acquire pairs with push_remote.
  static void* remote_first(const span_type& span) {
    const span_word word = span.load_word(std::memory_order_acquire);
    return word.remote_count() > 0 ? span.base + word.remote_newest() : nullptr;
  }

  std::uint32_t number_of(const void* block) const {
    return (span_.offset_of(block) - span_.color) / kind_.block_bytes;
  }
  std::uint32_t bit_of(const void* block) const {
    return std::uint32_t{1} << span_.offset_of(block) / os_pages::page_bytes();
  }

  bool is_block(const void* address) const {
    const std::size_t offset = span_.distance_to(address) - span_.color;
    return offset < std::size_t{kind_.blocks} * kind_.block_bytes && offset % kind_.block_bytes == 0;
  }

  // Visits the blocks of a list. False: what follows the blocks that were visited is no list of blocks.
  template <class Visit>
  bool for_each(void* block, Visit&& visit) const {
    for (std::uint32_t left = kind_.blocks; block != nullptr; block = span_.secrets.next_of(block), --left) {
      if (left == 0 || !is_block(block)) return false;
      visit(block);
    }
    return true;
  }

  // Fresh blocks are in no list, and so are not free here. A page without blocks holds nothing to be given
  // back.
  bool is_whole(std::uint32_t page, const std::bitset<most_blocks>& is_free) const {
    const block_range in = blocks_touching(page, kind_, span_.color);
    for (std::uint32_t block = in.first; block < in.end; ++block)
      if (!is_free[block]) return false;
    return in.first < in.end;
  }

  // Every store leaves a list that is whole: a child of fork may find any of them.
  void unlink(void* first, std::uint32_t pages) {
    void* last = first;
    for (void* block = span_.secrets.next_of(first); block != nullptr;) {
      void* const next = span_.secrets.next_of(block);
      if ((bit_of(block) & pages) == 0) {
        if (span_.secrets.next_of(last) != block) span_.secrets.link(last, block);
        last = block;
      }
      block = next;
    }
    if (span_.secrets.next_of(last) != nullptr) span_.secrets.link(last, nullptr);
  }

  span_type& span_;
  const size_class& kind_;
  // The holes there are.
  const std::uint32_t known_;
  // Of the local and of the remote list, or of the chain.
  const std::array<void*, 2> firsts_;
};

}  // namespace heaplab::scalloc
