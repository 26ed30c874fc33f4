// Owner: adaptive pools, one for each of a row of geometrically growing sizes (P0089, section 3).
//
// Differs from BDE's multipool: no header a block (`deallocate` is told the size), finer sizes, a free block
// is used again before a fresh one is cut, and chunks grow to a size in bytes instead of 32 blocks.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <new>

#include "heaplab/local/align.h"
#include "heaplab/local/block_list.h"
#include "heaplab/local/new_delete.h"
#include "heaplab/local/poison.h"
#include "heaplab/local/size_classes.h"
#include "heaplab/local/source.h"

namespace heaplab::local {

struct multipool_options {
  // Bytes to which the chunks of a pool grow. Until then each is a third to a half of what the pool has.
  std::size_t largest_chunk = std::size_t{32} << 10;
};

// For one thread at a time.
struct no_lock {
  void lock() {}
  void unlock() {}
};

// Serves a request from the pool of the smallest size that fits, and requests larger than every pool (or
// aligned to more than a cache line) from upstream. Memory goes back upstream through release() or the
// destructor, memory of large blocks also through deallocate(). With a lock (std::mutex) any number of
// threads may allocate and deallocate.
//
// Adds to a block: what its size class is larger (at most a fifth from 32 bytes on). Adds to a chunk and to
// a large block: four words, none above a source that takes nothing back.
template <source Upstream = new_delete, class Lock = no_lock, pool_layout Layout = pool_layout{}>
class multipool {
  using classes = size_classes<Layout>;

public:
  static constexpr std::size_t largest_block = Layout.largest_block;
  static constexpr std::size_t largest_alignment = 64;  // larger ones are not pooled

  // `upstream` is held, not owned. Allocates nothing.
  explicit multipool(const multipool_options& options = {}, Upstream& upstream = default_source<Upstream>())
      : upstream_(&upstream), options_(options) {
    free_.fill(&empty_);
  }

  multipool(const multipool&) = delete;
  multipool& operator=(const multipool&) = delete;

  ~multipool() { release(); }

  // O(1) but for the chunk or block that upstream may be asked for. Throws what upstream throws; then nothing
  // has changed. The behavior is undefined unless `alignment` is a power of two.
  [[nodiscard]] void* allocate(std::size_t bytes, std::size_t alignment) {
    assert(std::has_single_bit(alignment));
    const std::lock_guard guard(lock_);
    if (is_large(bytes, alignment)) [[unlikely]]
      return allocate_large(bytes, alignment);
    void* block = take(index_of(bytes, alignment));
    unpoison(block, bytes);
    return block;
  }

  // O(1). The behavior is undefined unless `block` is a live block of this allocator, got for the same
  // `bytes` and `alignment`.
  void deallocate(void* block, std::size_t bytes, std::size_t alignment) {
    assert(block != nullptr && !is_poisoned(block, bytes));
    const std::lock_guard guard(lock_);
    if (is_large(bytes, alignment)) [[unlikely]]
      return deallocate_large(block, bytes, alignment);
    const std::size_t index = index_of(bytes, alignment);
    poison(block, classes::size_of(index));
    put_link(block, reinterpret_cast<std::uintptr_t>(free_[index]));
    free_[index] = block;
  }

  // Takes all blocks back and gives all memory back to upstream. The chunks to come are as large as those
  // given back have become. O(chunks + large blocks), O(pools) above a source that takes nothing back.
  void release() {
    const std::lock_guard guard(lock_);
    if constexpr (!one_way_source<Upstream>) {
      chunks_.release(*upstream_);
      large_.release(*upstream_);
    }
    free_.fill(&empty_);
  }

private:
  static constexpr std::size_t cache_line = largest_alignment;
  static constexpr std::size_t page = 4096;

  // The first word of a free block is either the address of the next free block or, if odd, twice the number
  // of blocks behind this block that were never handed out, plus 1. An empty pool begins with a word of a
  // third kind, which is never handed out.
  using link = std::uintptr_t;
  static constexpr link exhausted = ~link{0};
  static inline link empty_ = exhausted;

  static link fresh_link(std::size_t blocks_behind) { return 2 * blocks_behind + 1; }

  // Links lie in memory that is poisoned for everybody else.
  static link get_link(void* block) {
    unpoison(block, sizeof(link));
    return *static_cast<link*>(block);
  }

  static void put_link(void* block, link value) {
    unpoison(block, sizeof(link));
    ::new (block) link(value);
    poison(block, sizeof(link));
  }

  // 0 bytes give true as well, so that one comparison suffices.
  static bool is_large(std::size_t bytes, std::size_t alignment) {
    return bytes - 1 >= largest_block || alignment > largest_alignment;
  }

  // A size rounded up to its alignment has a class that is a multiple of the alignment.
  static std::size_t index_of(std::size_t bytes, std::size_t alignment) {
    return classes::index_of_last((bytes - 1) | (alignment - 1));
  }

  void* take(std::size_t index) {
    void* block = free_[index];
    const link next = get_link(block);
    if (next % 2 == 0) {
      free_[index] = reinterpret_cast<void*>(next);
      return block;
    }
    if (next == exhausted) [[unlikely]]
      return replenish(index);
    free_[index] = cut(block, next / 2, index);
    return block;
  }

  // Makes the block behind `block` the first of the `blocks` fresh ones there, if there are any.
  static void* cut(void* block, std::size_t blocks, std::size_t index) {
    if (blocks == 0) return &empty_;
    void* behind = static_cast<std::byte*>(block) + classes::size_of(index);
    put_link(behind, fresh_link(blocks - 1));
    return behind;
  }

  // Takes a block from a new chunk.
  [[gnu::noinline, gnu::cold]] void* replenish(std::size_t index) {
    const std::size_t size = classes::size_of(index);
    const std::size_t first = std::max(cache_line / size, std::size_t{1});
    // The units of a pool after each chunk: 1 2 3 4 6 8 12 16 24 32 ..
    const unsigned step = grown_[index];
    const std::size_t blocks = first << (step < 4 ? 0 : step / 2 - 1);
    // Without a gap between chunks, all their blocks would share a few sets of the cache.
    const std::size_t gap = one_way_source<Upstream> && blocks * size >= page ? cache_line : 0;
    void* chunk = obtain(chunks_, blocks * size + gap, std::min(lowest_bit(size), cache_line));
    if (step % 2 == 0 || 2 * blocks * size <= options_.largest_chunk) ++grown_[index];
    poison(chunk, blocks * size);
    free_[index] = cut(chunk, blocks - 1, index);
    return chunk;
  }

  [[gnu::noinline, gnu::cold]] void* allocate_large(std::size_t bytes, std::size_t alignment) {
    return obtain(large_, bytes, alignment);
  }

  [[gnu::noinline, gnu::cold]] void deallocate_large(void* block, std::size_t bytes, std::size_t alignment) {
    if constexpr (one_way_source<Upstream>) {
      upstream_->deallocate(block, bytes, alignment);
    } else {
      large_.deallocate(*upstream_, block, bytes);
    }
  }

  // Chunks of a source that takes nothing back need not be remembered.
  void* obtain(block_list& list, std::size_t bytes, std::size_t alignment) {
    if constexpr (one_way_source<Upstream>) {
      return upstream_->allocate(bytes, alignment);
    } else {
      return list.allocate(*upstream_, bytes, alignment);
    }
  }

  std::array<void*, classes::count> free_;            // of each pool: the block to hand out next
  std::array<std::uint8_t, classes::count> grown_{};  // of each pool: which step of growth is next
  [[no_unique_address]] Lock lock_;
  Upstream* upstream_;
  multipool_options options_;
  block_list chunks_;
  block_list large_;
};

template <source Upstream = new_delete, pool_layout Layout = pool_layout{}>
using synchronized_multipool = multipool<Upstream, std::mutex, Layout>;

static_assert(managed_source<multipool<>> && !one_way_source<multipool<>>);

}  // namespace heaplab::local
