// Owner: a sequential allocator, which reclaims memory only all at once (P0089, section 3).
#pragma once

#include <algorithm>
#include <bit>
#include <cassert>
#include <cstddef>
#include <span>

#include "heaplab/local/align.h"
#include "heaplab/local/block_list.h"
#include "heaplab/local/growth.h"
#include "heaplab/local/new_delete.h"
#include "heaplab/local/poison.h"
#include "heaplab/local/source.h"

namespace heaplab::local {

// The alignment of a request that names none.
enum class alignment_rule {
  natural,  // the largest power of two that divides the size, at most the maximum: right for any object
  maximum,  // alignof(std::max_align_t)
  byte,     // 1: text and other bytes, without gaps
};

struct monotonic_options {
  // Memory used before any chunk; referred to, not owned. The behavior is undefined unless the buffer
  // outlives the allocator.
  std::span<std::byte> buffer = {};
  // Size of the first chunk in bytes; 0: the size of the buffer, but at least 1 KiB and at most 1 MiB.
  std::size_t first_chunk = 0;
  // Chunks stop growing at this size in bytes.
  std::size_t largest_chunk = std::size_t{32} << 20;
  growth chunk_growth = growth::geometric;
  alignment_rule alignment = alignment_rule::natural;
};

// Hands out the buffer and then chunks from upstream, from front to back. `deallocate` does nothing; memory
// is reclaimed by release(), rewind() or the destructor. A block that does not fit into the next chunk gets a
// chunk of its own, which counts as a step of growth, and the chunk in use stays in use. For one thread at a
// time.
//
// Overhead of a block: the padding of its alignment. Overhead of a chunk: four words.
template <source Upstream = new_delete>
class monotonic {
public:
  static constexpr bool deallocate_does_nothing = true;

  // `upstream` is referred to, not owned. The constructor allocates nothing.
  explicit monotonic(const monotonic_options& options = {}, Upstream& upstream = default_source<Upstream>())
      : upstream_(&upstream), options_(options), next_chunk_(first_chunk(options)) {
    to_buffer();
  }

  monotonic(const monotonic&) = delete;
  monotonic& operator=(const monotonic&) = delete;

  ~monotonic() {
    release();
    unpoison(options_.buffer.data(), options_.buffer.size());
  }

  // O(1), apart from the call that asks upstream for a chunk. Throws what upstream throws; a call that throws
  // changes nothing. The behavior is undefined unless `alignment` is a power of two.
  [[nodiscard]] void* allocate(std::size_t bytes, std::size_t alignment) {
    assert(std::has_single_bit(alignment));
    const std::size_t padding = padding_to(cursor_, alignment);
    if (bytes > room() || padding > room() - bytes) [[unlikely]]
      return allocate_slow(bytes, alignment);
    return take(padding, bytes);
  }

  // The same, with the alignment that the rule of the options gives.
  [[nodiscard]] void* allocate(std::size_t bytes) { return allocate(bytes, alignment_of(bytes)); }

  // Reclaims nothing. The behavior is undefined unless `block` is a live block of `bytes` bytes.
  void deallocate([[maybe_unused]] void* block, [[maybe_unused]] std::size_t bytes, std::size_t) {
    assert(!is_poisoned(block, bytes));
    poison(block, bytes);
  }

  // Grows or shrinks in place the block allocated last from the buffer or the chunk in use. Returns false and
  // changes nothing if `block` is another block or the chunk has too little room. O(1). The behavior is
  // undefined unless `block` is a live block of `bytes` bytes.
  [[nodiscard]] bool try_resize(void* block, std::size_t bytes, std::size_t new_bytes) {
    auto* start = static_cast<std::byte*>(block);
    if (start + bytes != cursor_ || new_bytes > static_cast<std::size_t>(end_ - start)) return false;
    cursor_ = start + new_bytes;
    unpoison(start, new_bytes);
    if (new_bytes < bytes) poison(cursor_, bytes - new_bytes);
    return true;
  }

  // Reclaims all blocks, deallocates every chunk and begins again with the buffer. O(chunks).
  void release() {
    chunks_.release(*upstream_);
    spare_.release(*upstream_);
    own_.release(*upstream_);
    next_chunk_ = first_chunk(options_);
    to_buffer();
  }

  // Reclaims all blocks, begins again with the buffer and retains the chunks for the next round; only chunks
  // made for a single block are deallocated. O(chunks).
  void rewind() {
    own_.release(*upstream_);
    while (block_list::link* chunk = chunks_.first()) {
      chunks_.remove(chunk);
      poison(chunk->start, room_of(chunk));
      spare_.push(chunk);
    }
    to_buffer();
  }

  // Bytes left in the buffer or the chunk in use.
  std::size_t room() const { return static_cast<std::size_t>(end_ - cursor_); }

private:
  // The cursor of an allocator without a buffer points here: no room, but a valid address.
  alignas(maximum_alignment) static inline std::byte nowhere_[1];

  static std::size_t first_chunk(const monotonic_options& options) {
    if (options.first_chunk != 0) return options.first_chunk;
    return std::clamp(options.buffer.size(), std::size_t{1} << 10, std::size_t{1} << 20);
  }

  std::size_t alignment_of(std::size_t bytes) const {
    if (options_.alignment == alignment_rule::byte) return 1;
    if (options_.alignment == alignment_rule::maximum || bytes == 0) return maximum_alignment;
    return std::min(lowest_bit(bytes), maximum_alignment);
  }

  void to_buffer() {
    const std::span<std::byte> buffer = options_.buffer;
    use(buffer.empty() ? nowhere_ : buffer.data(), buffer.size());
  }

  void use(std::byte* begin, std::size_t bytes) {
    poison(begin, bytes);
    cursor_ = begin;
    end_ = begin + bytes;
  }

  void* take(std::size_t padding, std::size_t bytes) {
    std::byte* block = cursor_ + padding;
    cursor_ = block + bytes;
    unpoison(block, bytes);
    return block;
  }

  [[gnu::noinline, gnu::cold]] void* allocate_slow(std::size_t bytes, std::size_t alignment) {
    const std::size_t padding = alignment > maximum_alignment ? alignment - maximum_alignment : 0;
    const bool is_spare = bytes <= maximum_size && next_spare(bytes + padding);
    if (!is_spare) {
      if (bytes > next_chunk_ || padding > next_chunk_ - bytes) {
        void* block = own_.allocate(*upstream_, bytes, alignment);
        grow();
        return block;
      }
      use(static_cast<std::byte*>(chunks_.allocate(*upstream_, next_chunk_, maximum_alignment)), next_chunk_);
      grow();
    }
    return take(padding_to(cursor_, alignment), bytes);
  }

  static std::size_t room_of(const block_list::link* chunk) {
    return chunk->bytes - sizeof(block_list::link);
  }

  // Continues in a chunk that rewind() retained and that has room for `bytes`. False: there is no such chunk.
  bool next_spare(std::size_t bytes) {
    for (block_list::link* spare = spare_.first(); spare != nullptr; spare = spare->next) {
      if (room_of(spare) < bytes) continue;
      spare_.remove(spare);
      chunks_.push(spare);
      use(spare->start, room_of(spare));
      return true;
    }
    return false;
  }

  // glibc gives the free end of its heap back to the system where it exceeds twice the largest chunk that it
  // ever got back. Where the chunks of a round exceed that together, every round faults for all its pages
  // again. Chunks that grow fourfold are together 4/3 of the largest; by half, three times the largest.
  void grow() {
    if (options_.chunk_growth == growth::constant || next_chunk_ >= options_.largest_chunk) return;
    const std::size_t factor = options_.chunk_growth == growth::doubling ? 2 : 4;
    const bool is_last = next_chunk_ > options_.largest_chunk / factor;
    next_chunk_ = is_last ? options_.largest_chunk : next_chunk_ * factor;
  }

  std::byte* cursor_;
  std::byte* end_;
  Upstream* upstream_;
  monotonic_options options_;
  std::size_t next_chunk_;
  block_list chunks_;  // the chunk in use first, then the full ones
  block_list spare_;   // chunks retained by rewind()
  block_list own_;     // chunks of one block each
};

static_assert(managed_source<monotonic<>> && one_way_source<monotonic<>>);

}  // namespace heaplab::local
