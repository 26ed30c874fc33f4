// Mechanism: remembers blocks of a source, so that all of them can be deallocated at once.
#pragma once

#include <algorithm>
#include <cstddef>
#include <new>
#include <utility>

#include "heaplab/local/align.h"
#include "heaplab/local/fail.h"
#include "heaplab/local/poison.h"
#include "heaplab/local/source.h"

namespace heaplab::local {

// A doubly linked list of blocks. The link of a block lies behind the block, where no link disturbs the
// alignment of a block:
//
//     start                                           bytes
//     |<---------------------------------------------->|
//     [ padding ][ block                ][ fill ][ link ][ rest of the padding ]
//
// The list asks the source for no more than the maximum alignment and aligns blocks itself, which is cheaper
// in time, and mostly in memory, than an aligned block of the global allocator. The list holds the blocks,
// not their source: the caller passes the same source to every call. Blocks still listed when the list is
// destroyed are leaked; the owner releases them first.
class block_list {
public:
  struct link {
    link* next;
    link* previous;
    std::byte* start;   // start of the source's block
    std::size_t bytes;  // size of the source's block
  };

  block_list() = default;
  block_list(const block_list&) = delete;
  block_list& operator=(const block_list&) = delete;

  // Returns a new block of at least `bytes`. O(1). Throws what the source throws, or std::bad_alloc where
  // size and alignment together exceed maximum_size; a call that throws changes nothing.
  template <source Source>
  void* allocate(Source& source, std::size_t bytes, std::size_t alignment) {
    const std::size_t slack = std::max(alignment, maximum_alignment) - maximum_alignment;
    if (bytes > maximum_size || slack > maximum_size - bytes) fail<std::bad_alloc>();
    const std::size_t offset = align_up(bytes, alignof(link));
    const std::size_t total = slack + offset + sizeof(link);
    auto* start = static_cast<std::byte*>(source.allocate(total, maximum_alignment));
    std::byte* block = start + padding_to(start, alignment);
    push(::new (block + offset) link{nullptr, nullptr, start, total});
    return block;
  }

  // Deallocates a block that `allocate` returned for the same `bytes`. O(1).
  template <source Source>
  void deallocate(Source& source, void* block, std::size_t bytes) {
    auto* position = static_cast<std::byte*>(block) + align_up(bytes, alignof(link));
    auto* own = std::launder(reinterpret_cast<link*>(position));
    remove(own);
    release_block(source, own);
  }

  // Deallocates every block, the latest first. O(blocks).
  template <source Source>
  void release(Source& source) {
    for (link* each = std::exchange(first_, nullptr); each != nullptr;) {
      release_block(source, std::exchange(each, each->next));
    }
  }

  // The latest block, or null.
  link* first() const { return first_; }

  void push(link* own) {
    own->next = first_;
    own->previous = nullptr;
    if (first_ != nullptr) first_->previous = own;
    first_ = own;
  }

  void remove(link* own) {
    if (own->next != nullptr) own->next->previous = own->previous;
    (own->previous != nullptr ? own->previous->next : first_) = own->next;
  }

private:
  template <source Source>
  static void release_block(Source& source, link* own) {
    std::byte* start = own->start;
    const std::size_t bytes = own->bytes;
    unpoison(start, bytes);
    source.deallocate(start, bytes, maximum_alignment);
  }

  link* first_ = nullptr;
};

}  // namespace heaplab::local
