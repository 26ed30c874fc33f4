// llheap: a malloc for low latency. It splits no block, coalesces none, and returns no addresses of buckets.
//
// Every thread has a heap of free lists and a buffer; a free block returns to the heap it came from.
// DESIGN.md has the design in reading order, and where it differs from the thesis of 2022.
#pragma once

#include <pthread.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "allocators/llheap/block.h"
#include "allocators/llheap/config.h"
#include "allocators/llheap/large_retention.h"
#include "allocators/llheap/mappings.h"
#include "allocators/llheap/shared_storage.h"
#include "allocators/llheap/size_classes.h"
#include "allocators/llheap/thread_heap.h"
#include "base/assertion.h"
#include "base/compiler.h"
#include "base/fatal.h"
#include "base/heap_concept.h"

namespace heaplab::llheap {

// The operations. `size` is in bytes, `alignment` a power of two, `user` a live block; null means out of
// memory. Policy::at_start() says what the limits are, before the first block is served; Platform is the
// operating system (base/platform.h).
template <config Config, class Policy = fixed_policy<Config>, class Platform = system_platform>
class core {
public:
  static constexpr config settings = Config;

  HEAPLAB_FAST_PATH static void* allocate(std::size_t size) noexcept {
    if (size <= largest_in_table) [[likely]] {
      const std::size_t bucket = bucket_of(size);
      thread_heap& mine = *current_;
      if (header* const block = mine.try_pop(bucket)) [[likely]]
        return write_header(mine, bucket, block, size) + 1;
    }
    return allocate_slow(size);
  }

  HEAPLAB_FAST_PATH static void deallocate(void* user) noexcept {
    header* const block = header_of(user);
    thread_heap& mine = *current_;
    if constexpr (Config.ownership) {
      // This heap owns the block if its home word differs from the heap's address in bucket and zero-fill
      // alone.
      const std::uintptr_t apart = block->word ^ reinterpret_cast<std::uintptr_t>(&mine);
      if ((apart & ~(bucket_bits | zero_filled)) == 0) [[likely]]
        return mine.push(apart >> 4, block);
    } else {
      if ((block->word & (fake | mapped | freed | large)) == 0 && &mine != &nobody_) [[likely]]
        return mine.push((block->word & bucket_bits) >> 4, block);
    }
    deallocate_slow(user);
  }

  static void* allocate_zeroed(std::size_t size) noexcept {
    const grant got = obtain(size);
    if (got.block == nullptr) return nullptr;
    return fill_with_zeros(got, got.block + 1);
  }

  static void* allocate_aligned(std::size_t alignment, std::size_t size) noexcept {
    if (alignment <= minimum_alignment) return allocate(size);
    const grant got = obtain_for_alignment(alignment, size);
    return got.block == nullptr ? nullptr : mark_alignment(got.block, alignment);
  }

  static void* allocate_aligned_zeroed(std::size_t alignment, std::size_t size) noexcept {
    if (alignment <= minimum_alignment) return allocate_zeroed(size);
    const grant got = obtain_for_alignment(alignment, size);
    if (got.block == nullptr) return nullptr;
    return fill_with_zeros(got, mark_alignment(got.block, alignment));
  }

  static std::size_t usable_size(void* user) noexcept { return block_view(user).usable(); }

  // True if a thread other than the caller owns the block's heap. Mapped blocks have no heap.
  static bool is_remote(void* user) noexcept {
    const block_view block(user);
    return !block.is(mapped) && home_of(block.real()) != current_;
  }

  // Gives nothing back: what a thread has carved stays with its heap, and large blocks gave their pages back.
  static bool trim(std::size_t) noexcept { return false; }

  static void after_fork_in_child() noexcept { storage_.after_fork_in_child(*current_); }

  // The parts, for the layers above. my_heap: the calling thread's heap; null: out of memory.
  static shared_storage<Platform>& storage() { return storage_; }
  static mappings<Platform>& mapped_blocks() { return mappings_; }
  static const large_retention<Platform>& retained_large() { return large_; }
  static thread_heap* my_heap() { return current_ != &nobody_ ? current_ : attach(); }
  static void start() {
    if (!storage_.started()) storage_.start(Policy::at_start());
  }

private:
  struct grant {
    header* block = nullptr;
    bool zero = false;  // the user's bytes are known to be zero
  };

  HEAPLAB_FAST_PATH static header* write_header(thread_heap& mine, std::size_t bucket, header* block,
                                                std::size_t size) {
    block->word = reinterpret_cast<std::uintptr_t>(&mine) | bucket << 4;
    block->second = size;
    return block;
  }

  static thread_heap* home_of(const header* block) {
    return reinterpret_cast<thread_heap*>(block->word & ~(home_alignment - 1));
  }

  [[gnu::noinline]] static void* allocate_slow(std::size_t size) {
    header* const block = obtain(size).block;
    return block == nullptr ? nullptr : block + 1;
  }

  // A block for `size` bytes, with a complete header.
  static grant obtain(std::size_t size) {
    thread_heap* const mine = my_heap();
    if (mine == nullptr) return {};
    if (size > storage_.mapping_threshold()) return obtain_mapped(size);
    const std::size_t bucket = bucket_of(size);
    header* block = mine->try_pop(bucket);
    if (block == nullptr && mine->try_take_remote(bucket)) {
      block = mine->try_pop(bucket);
      if constexpr (Config.statistics) mine->counters.add(routine::remote_pull, {.calls = 1});
    }
    if (block != nullptr) return used_again(*mine, bucket, block, size);
    if (mine->should_look_around(bucket) && mine->try_take_over(bucket, storage_.take_from_dead(bucket)))
      return used_again(*mine, bucket, mine->try_pop(bucket), size);
    block = mine->try_carve(bucket);
    if (block == nullptr) block = carve(*mine, bucket);
    if (block == nullptr) return {};
    return {hand_out_of_any_size(*mine, bucket, block, size), true};
  }

  static grant used_again(thread_heap& mine, std::size_t bucket, header* block, std::size_t size) {
    if (is_large(bucket)) large_.take(block);
    return {hand_out_of_any_size(mine, bucket, block, size), false};
  }

  static bool is_large(std::size_t bucket) { return bucket_bytes(bucket) > Config.large_block_bytes; }

  static header* hand_out_of_any_size(thread_heap& mine, std::size_t bucket, header* block,
                                      std::size_t size) {
    write_header(mine, bucket, block, size);
    if (is_large(bucket)) block->word |= large;
    return block;
  }

  static grant obtain_mapped(std::size_t size) {
    if (size > PTRDIFF_MAX) return {};
    header* const block = mappings_.map(size);
    if (block != nullptr) block->second = size;
    return {block, true};
  }

  static grant obtain_for_alignment(std::size_t alignment, std::size_t size) {
    if (size > PTRDIFF_MAX || alignment > PTRDIFF_MAX) return {};
    const grant got = obtain(size + bytes_to_align(alignment));
    if (got.block != nullptr) got.block->second = size;
    return got;
  }

  // Precondition: the buffer has no room. A block that would leave much of a buffer unused comes from the
  // area directly.
  static header* carve(thread_heap& mine, std::size_t bucket) {
    const std::size_t bytes = sizeof(header) + bucket_bytes(bucket);
    if (bytes > storage_.current_limits().thread_buffer_bytes / Config.direct_carve_divisor)
      return reinterpret_cast<header*>(storage_.carve(bytes).start);
    return storage_.extend_buffer_of(mine) ? mine.try_carve(bucket) : nullptr;
  }

  // Fresh memory is zero, but a program that reads fresh memory first gets the kernel's shared page of zeros,
  // and pays a second page fault when the next header is written to that page. So only blocks larger than a
  // page are left untouched.
  static void* fill_with_zeros(const grant& got, void* user) {
    const std::size_t bytes = block_view(user).usable();
    if (!got.zero || bytes <= os_pages::page_bytes()) std::memset(user, 0, bytes);
    got.block->word |= zero_filled;
    return user;
  }

  [[noreturn]] static void refuse(void* user) { fatal("llheap: free of a pointer that is no block", user); }

  // Frees a block that is aligned, mapped, large or another heap's, or refuses a pointer to no block.
  [[gnu::noinline]] static void deallocate_slow(void* user) {
    if (!is_aligned(user, minimum_alignment)) refuse(user);
    const block_view block(user);
    if (block.is(freed)) fatal("llheap: double free", user);
    if (block.is(mapped)) {
      if (!mappings<Platform>::can_be_header(block.real())) refuse(user);
      return mappings_.unmap(block.real());
    }
    thread_heap* home = home_of(block.real());
    if (home == nullptr) refuse(user);
    if (block.is(large)) large_.put(block.real(), block.total_bytes());
    // A thread whose first call is a free gets a heap. Sent home, the block would be lost to the heaps of
    // such threads: one block for each thread.
    if constexpr (!Config.ownership)
      if (thread_heap* const mine = my_heap()) home = mine;
    if (home == current_) return home->push(block.bucket(), block.real());
    if constexpr (Config.statistics) {
      if (thread_heap* const mine = my_heap()) mine->counters.add(routine::remote_push, {.calls = 1});
    }
    home->push_remote(block.bucket(), block.real());
  }

  // Gives the calling thread a heap. Null: out of memory.
  HEAPLAB_SLOW_PATH static thread_heap* attach() {
    start();
    thread_heap* const mine = storage_.take_heap();
    if (mine == nullptr) return nullptr;
    current_ = mine;
    // Registering the thread's end may allocate, and so comes last. If registering fails (no key, no memory),
    // the heap stays unused when the thread ends.
    pthread_once(&key_once_, [] { has_key_ = pthread_key_create(&key_, detach) == 0; });
    if (has_key_) pthread_setspecific(key_, mine);
    return mine;
  }

  // Runs at the end of a thread. Should a later destructor allocate, the thread attaches once more, and
  // detach runs again.
  static void detach(void* mine) {
    current_ = &nobody_;
    storage_.give_heap_back(*static_cast<thread_heap*>(mine));
  }

  // Stands for the heap of a thread that has none: always empty, and home of no block.
  alignas(home_alignment) static inline constinit thread_heap nobody_;
  [[gnu::tls_model("initial-exec")]] static inline constinit thread_local thread_heap* current_ = &nobody_;
  static inline constinit shared_storage<Platform> storage_{limits_of(Config)};
  static inline constinit mappings<Platform> mappings_;
  static inline constinit large_retention<Platform> large_{Config.retained_large_bytes};
  static inline constinit pthread_once_t key_once_ = PTHREAD_ONCE_INIT;
  static inline constinit pthread_key_t key_ = 0;
  static inline constinit bool has_key_ = false;
};

}  // namespace heaplab::llheap
