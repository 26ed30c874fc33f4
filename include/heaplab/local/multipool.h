// Owner: adaptive pools, one for each size class; sizes grow geometrically (P0089, section 3).
//
// Differences from BDE's multipool: blocks have no headers (`deallocate` gets the size), size classes are
// finer, a free block is reused before a fresh one is cut from a chunk, and the limit of a chunk's growth is
// a size in bytes instead of 32 blocks.
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
#include "heaplab/local/growth.h"
#include "heaplab/local/new_delete.h"
#include "heaplab/local/poison.h"
#include "heaplab/local/size_classes.h"
#include "heaplab/local/source.h"

namespace heaplab::local {

struct multipool_options {
  // The size in bytes at which the chunks of a pool stop growing.
  std::size_t largest_chunk = std::size_t{32} << 10;
  // Up to that size a chunk is a third to a half of what the pool already has, or twice the previous one.
  growth chunk_growth = growth::geometric;
};

// For one thread at a time.
struct no_lock {
  void lock() {}
  void unlock() {}
};

// Serves a request from the pool of the smallest size that fits. Requests larger than every pool, or aligned
// to more than a cache line, go to upstream. release() and the destructor deallocate all memory; deallocate()
// gives only large blocks back to upstream. With a lock (std::mutex) any number of threads may allocate and
// deallocate.
//
// Overhead of a block: the difference between its size and its size class (at most a fifth from 32 bytes on).
// Overhead of a chunk and of a large block: four words, or nothing above a source whose deallocate does
// nothing.
template <source Upstream = new_delete, class Lock = no_lock, pool_layout Layout = pool_layout{}>
class multipool {
  using classes = size_classes<Layout>;

public:
  static constexpr std::size_t largest_block = Layout.largest_block;
  static constexpr std::size_t largest_alignment = 64;  // blocks of a larger alignment are not pooled

  // `upstream` is referred to, not owned. The constructor allocates nothing.
  explicit multipool(const multipool_options& options = {}, Upstream& upstream = default_source<Upstream>())
      : upstream_(&upstream), options_(options) {
    free_.fill(&empty_);
  }

  multipool(const multipool&) = delete;
  multipool& operator=(const multipool&) = delete;

  ~multipool() { release(); }

  // O(1), apart from the call that asks upstream for a chunk or a block. Throws what upstream throws; a call
  // that throws changes nothing. The behavior is undefined unless `alignment` is a power of two.
  [[nodiscard]] void* allocate(std::size_t bytes, std::size_t alignment) {
    assert(std::has_single_bit(alignment));
    const std::lock_guard guard(lock_);
    if (is_large(bytes, alignment)) [[unlikely]]
      return allocate_large(bytes, alignment);
    void* block = take(index_of(bytes, alignment));
    unpoison(block, bytes);
    return block;
  }

  // O(1). The behavior is undefined unless `block` is a live block that this allocator returned for the same
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

  // Reclaims all blocks and returns all memory to upstream. Chunk sizes do not start over: the next chunk of
  // a pool is as large as it would have been without the release. O(chunks + large blocks), or O(pools) above
  // a source whose deallocate does nothing.
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

  // The first word of a free block is either the address of the next free block or, if odd, 2n + 1, where n
  // blocks behind this block are fresh: never handed out. The list of an empty pool begins with a word of a
  // third kind, which is never handed out either.
  using link = std::uintptr_t;
  static constexpr link exhausted = ~link{0};
  static inline link empty_ = exhausted;

  static link fresh_link(std::size_t blocks_behind) { return 2 * blocks_behind + 1; }

  // Links lie in memory that is poisoned for all other code.
  static link get_link(void* block) {
    unpoison(block, sizeof(link));
    return *static_cast<link*>(block);
  }

  static void put_link(void* block, link value) {
    unpoison(block, sizeof(link));
    ::new (block) link(value);
    poison(block, sizeof(link));
  }

  // True for 0 bytes too, so that one comparison suffices.
  static bool is_large(std::size_t bytes, std::size_t alignment) {
    return bytes - 1 >= largest_block || alignment > largest_alignment;
  }

  // A size rounded up to its alignment belongs to a class whose size is a multiple of the alignment.
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

  // Makes the block behind `block` the first of `blocks` fresh blocks, if `blocks` is not 0.
  static void* cut(void* block, std::size_t blocks, std::size_t index) {
    if (blocks == 0) return &empty_;
    void* behind = static_cast<std::byte*>(block) + classes::size_of(index);
    put_link(behind, fresh_link(blocks - 1));
    return behind;
  }

  // A chunk has first << doublings(step) blocks. Geometric: the size of a pool after each chunk, in units of
  // the first chunk, is 1 2 3 4 6 8 12 16 24 32 ..
  unsigned doublings(unsigned step) const {
    if (options_.chunk_growth == growth::doubling) return step;
    return step < 4 ? 0 : step / 2 - 1;
  }

  // Returns a block of a new chunk.
  [[gnu::noinline, gnu::cold]] void* replenish(std::size_t index) {
    const std::size_t size = classes::size_of(index);
    const std::size_t first = std::max(cache_line / size, std::size_t{1});
    const unsigned step = grown_[index];
    const std::size_t blocks = first << doublings(step);
    // The gap keeps the blocks of successive chunks from sharing a few sets of the cache.
    const std::size_t gap = one_way_source<Upstream> && blocks * size >= page ? cache_line : 0;
    void* chunk = obtain(chunks_, blocks * size + gap, std::min(lowest_bit(size), cache_line));
    const bool may_grow =
        doublings(step + 1) == doublings(step) || 2 * blocks * size <= options_.largest_chunk;
    if (may_grow && options_.chunk_growth != growth::constant) ++grown_[index];
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

  // Chunks of a source whose deallocate does nothing need not be remembered.
  void* obtain(block_list& list, std::size_t bytes, std::size_t alignment) {
    if constexpr (one_way_source<Upstream>) {
      return upstream_->allocate(bytes, alignment);
    } else {
      return list.allocate(*upstream_, bytes, alignment);
    }
  }

  std::array<void*, classes::count> free_;            // by pool: the block to hand out next
  std::array<std::uint8_t, classes::count> grown_{};  // by pool: the next step of growth
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
