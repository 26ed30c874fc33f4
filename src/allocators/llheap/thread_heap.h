#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "allocators/llheap/block.h"
#include "allocators/llheap/counters.h"
#include "allocators/llheap/size_classes.h"
#include "base/atomic.h"
#include "base/cache_line.h"
#include "base/compiler.h"

namespace heaplab::llheap {

// Blocks of a heap that other threads have freed. Any thread pushes; the owner takes the whole list.
class alignas(cache_line_bytes) remote_list {
public:
  void push(header* block) {
    link seen = head_.load(std::memory_order_relaxed);
    do block->word = seen;
    // Release publishes the block's link and the freeing thread's writes to the block, and pairs with
    // take_all. No ABA problem: no block is ever popped alone.
    while (!head_.compare_exchange_weak(seen, link_to(block), std::memory_order_release,
                                        std::memory_order_relaxed));
  }

  // The whole chain, or no_link.
  link take_all() {
    if (head_.load(std::memory_order_relaxed) == no_link) return no_link;
    // Acquire pairs with push, for every block of the chain: each push continues the release sequence.
    return head_.exchange(no_link, std::memory_order_acquire);
  }

private:
  atomic<link> head_{no_link};
};

// The heap of one thread: for each bucket a free list and a remote list, and a buffer to carve new blocks
// from. Only the owning thread touches the heap, except for the remote lists and what is marked otherwise.
// The heap outlives its thread: the next thread that starts takes the heap over as it is.
class alignas(home_alignment) thread_heap {
public:
  constexpr thread_heap() { free_.fill(no_link); }

  HEAPLAB_FAST_PATH header* try_pop(std::size_t bucket) {
    const link first = free_[bucket];
    if (first == no_link) [[unlikely]]
      return nullptr;
    header* const block = block_at(first);
    free_[bucket] = block->word;
    return block;
  }

  HEAPLAB_FAST_PATH void push(std::size_t bucket, header* block) {
    block->word = free_[bucket];
    free_[bucket] = link_to(block);
  }

  // Called by any thread.
  void push_remote(std::size_t bucket, header* block) { remote_[bucket].push(block); }

  // Precondition: the free list is empty. Makes the remote list the free list. False: both are empty.
  bool try_take_remote(std::size_t bucket) {
    free_[bucket] = remote_[bucket].take_all();
    return free_[bucket] != no_link;
  }

  // Free blocks of a bucket for another heap; no_link if there are none. Precondition: this heap has no
  // thread. Not all free blocks go: its next thread needs some.
  link take_some(std::size_t bucket) {
    link& first = free_[bucket];
    if (first == no_link && !try_take_remote(bucket)) return no_link;
    const link taken = first;
    header* last = block_at(taken);
    for (unsigned left = blocks_of_a_look - 1; left > 0 && last->word != no_link; --left)
      last = block_at(last->word);
    first = std::exchange(last->word, no_link);
    return taken;
  }

  // Called before each new block: whether to look for free blocks in other heaps first. A look takes a lock
  // and brings blocks_of_a_look blocks at most, so it comes once in as many calls, and where the buffer has
  // no room.
  bool should_look_around(std::size_t bucket) {
    return new_blocks_++ % blocks_of_a_look == 0 || uncarved_bytes() < sizeof(header) + bucket_bytes(bucket);
  }

  // Makes `chain` the free list. Precondition: the free list is empty. False if the chain is empty too.
  bool try_take_over(std::size_t bucket, link chain) {
    free_[bucket] = chain;
    return chain != no_link;
  }

  // A block never used before: its user's bytes are zero.
  header* try_carve(std::size_t bucket) {
    const std::size_t bytes = sizeof(header) + bucket_bytes(bucket);
    if (static_cast<std::size_t>(buffer_end_ - buffer_) < bytes) return nullptr;
    header* const block = reinterpret_cast<header*>(buffer_);
    buffer_ += bytes;
    return block;
  }

  // Continues carving in [start, end). True if that range continues the present buffer. Otherwise the rest of
  // the present buffer becomes a free block of the largest bucket that fits, if any fits.
  bool extend_buffer(char* start, char* end) {
    const bool contiguous = start == buffer_end_;
    if (!contiguous) {
      keep_tail();
      buffer_ = start;
    }
    buffer_end_ = end;
    return contiguous;
  }

  std::size_t uncarved_bytes() const { return static_cast<std::size_t>(buffer_end_ - buffer_); }

  // The number of free blocks of a bucket; joins the remote list to the free list. Called by the owner, or
  // for a heap without a thread.
  std::size_t count_free(std::size_t bucket) {
    std::size_t blocks = 0;
    link* last = &free_[bucket];
    for (; *last != no_link; last = &block_at(*last)->word) ++blocks;
    *last = remote_[bucket].take_all();
    for (; *last != no_link; last = &block_at(*last)->word) ++blocks;
    return blocks;
  }

  // Called in the child of a fork for the heap of a vanished thread, which may have been in the middle of an
  // operation: forgets what only that thread wrote.
  void forget_local_state() {
    free_.fill(no_link);
    buffer_ = buffer_end_ = nullptr;
  }

  // Whether every link leads to a free block, and the buffer does not exceed its end. Walks the free lists.
  // Called by the owner, or for a heap without a thread.
  bool is_valid() const {
    for (link first : free_)
      for (link current = first; current != no_link; current = block_at(current)->word)
        if ((current & flag_bits) != freed) return false;
    return buffer_ <= buffer_end_;
  }

private:
  void keep_tail() {
    const std::size_t left = uncarved_bytes();
    if (left < sizeof(header) + bucket_bytes(0)) return;
    const std::size_t user = left - sizeof(header);
    std::size_t bucket = bucket_of(user);
    if (bucket_bytes(bucket) > user) --bucket;
    push(bucket, reinterpret_cast<header*>(buffer_));
  }

  static constexpr unsigned blocks_of_a_look = 16;

  std::array<link, bucket_count> free_;  // first: the fast paths address it without an offset
  char* buffer_ = nullptr;
  char* buffer_end_ = nullptr;
  unsigned new_blocks_ = 0;
  std::array<remote_list, bucket_count> remote_;

public:
  routine_counters counters;  // written by the owner, read by any thread

  // Under the lock of shared_storage:
  thread_heap* next = nullptr;       // all heaps
  thread_heap* next_dead = nullptr;  // heaps whose threads have ended
  bool dead = false;
};

}  // namespace heaplab::llheap
