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
  // Bytes to which the chunks of a pool grow; each chunk has twice the blocks of the one before.
  std::size_t largest_chunk = std::size_t{16} << 10;
};

// For one thread at a time.
struct no_lock {
  void lock() {}
  void unlock() {}
};

// Serves a request from the pool of the smallest size that fits, larger ones (and alignments above a cache
// line) from upstream. Memory goes back upstream through release() or the destructor, that of large blocks
// also through deallocate(). With a lock (std::mutex) any number of threads may allocate and deallocate.
//
// Adds to a block: what its size class is larger (at most a fifth from 32 bytes on). Adds to a chunk and to
// a large block: four words, none above a source that takes nothing back.
template <source Upstream = new_delete, class Lock = no_lock, pool_layout Layout = pool_layout{}>
class multipool {
  using classes = size_classes<Layout>;

public:
  static constexpr std::size_t largest_block = Layout.largest_block;
  static constexpr std::size_t largest_alignment = 64;

  // `upstream` is held, not owned. Allocates nothing.
  explicit multipool(const multipool_options& options = {}, Upstream& upstream = default_source<Upstream>())
      : upstream_(&upstream), options_(options) {}

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
    const std::size_t index = index_of(bytes, alignment);
    pool& own = pools_[index];
    void* block = own.free != nullptr ? pop(own) : cut(own, index);
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
    pool& own = pools_[index];
    unpoison(block, sizeof(free_block));
    own.free = ::new (block) free_block{own.free};
    poison(block, classes::size_of(index));
  }

  // Takes all blocks back and gives all memory back to upstream. The chunks to come are as large as those
  // given back have become. O(chunks + large blocks), O(pools) above a source that takes nothing back.
  void release() {
    const std::lock_guard guard(lock_);
    if constexpr (!one_way_source<Upstream>) {
      chunks_.release(*upstream_);
      large_.release(*upstream_);
    }
    for (pool& each : pools_) each = pool{.next_blocks = each.next_blocks};
  }

private:
  struct free_block {
    free_block* next;
  };

  struct pool {
    free_block* free = nullptr;      // blocks taken back, the latest first
    std::byte* fresh = nullptr;      // blocks of the latest chunk that were never handed out
    std::uint32_t fresh_blocks = 0;  // how many of them
    std::uint32_t next_blocks = 0;   // blocks of the next chunk; 0: there was none yet
  };

  // Also true of 0 bytes, so that one comparison does.
  static bool is_large(std::size_t bytes, std::size_t alignment) {
    return bytes - 1 >= largest_block || alignment > largest_alignment;
  }

  // A size rounded up to its alignment has a class that is a multiple of the alignment.
  static std::size_t index_of(std::size_t bytes, std::size_t alignment) {
    return classes::index_of_last((bytes - 1) | (alignment - 1));
  }

  static void* pop(pool& own) {
    free_block* block = own.free;
    unpoison(block, sizeof(free_block));
    own.free = block->next;
    return block;
  }

  void* cut(pool& own, std::size_t index) {
    if (own.fresh_blocks == 0) [[unlikely]]
      replenish(own, index);
    std::byte* block = own.fresh;
    own.fresh += classes::size_of(index);
    --own.fresh_blocks;
    return block;
  }

  [[gnu::noinline, gnu::cold]] void replenish(pool& own, std::size_t index) {
    const std::size_t size = classes::size_of(index);
    const std::size_t blocks =
        own.next_blocks != 0 ? own.next_blocks : std::max(largest_alignment / size, std::size_t{1});
    own.fresh = static_cast<std::byte*>(
        obtain(chunks_, blocks * size, std::min(lowest_bit(size), largest_alignment)));
    own.fresh_blocks = static_cast<std::uint32_t>(blocks);
    poison(own.fresh, blocks * size);
    const std::size_t most =
        std::max(std::min<std::size_t>(options_.largest_chunk / size, UINT32_MAX), blocks);
    own.next_blocks = static_cast<std::uint32_t>(std::min(2 * blocks, most));
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

  // What takes nothing back need not be remembered.
  void* obtain(block_list& list, std::size_t bytes, std::size_t alignment) {
    if constexpr (one_way_source<Upstream>) {
      return upstream_->allocate(bytes, alignment);
    } else {
      return list.allocate(*upstream_, bytes, alignment);
    }
  }

  std::array<pool, classes::count> pools_;
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
