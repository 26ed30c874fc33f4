#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <new>

#include "allocators/llheap/area_list.h"
#include "allocators/llheap/config.h"
#include "allocators/llheap/thread_heap.h"
#include "base/assertion.h"
#include "base/atomic.h"
#include "base/bits.h"
#include "base/os_pages.h"
#include "base/platform.h"
#include "concurrent/futex_lock.h"

namespace heaplab::llheap {

struct storage_counts {
  std::uint64_t areas = 0;
  std::uint64_t area_bytes = 0;    // address space
  std::uint64_t carved_bytes = 0;  // of that: given to threads
  std::uint64_t buffers_contiguous = 0;
  std::uint64_t buffers_apart = 0;
  std::uint64_t heaps_new = 0;
  std::uint64_t heaps_reused = 0;
};

// The storage that all threads share: areas of address space, from which threads carve their buffers, and the
// heaps themselves. The heaps of ended threads wait here for new threads. No storage is ever given back.
template <class Platform = system_platform>
class shared_storage {
public:
  constexpr explicit shared_storage(const limits& at_first) : limits_(at_first) {}

  bool started() const { return started_.load(std::memory_order_acquire); }  // pairs with start

  // Fixes the limits, brought into their ranges. Only the first call has an effect.
  void start(limits wanted) {
    const std::lock_guard guard(lock_);
    if (started_.load(std::memory_order_relaxed)) return;
    limits_ = in_range(wanted);
    mapping_threshold_.store(std::min(wanted.mapping_threshold, largest_bucketed), std::memory_order_relaxed);
    started_.store(true, std::memory_order_release);
  }

  const limits& current_limits() const { return limits_; }

  // Requests above this have mappings of their own. Relaxed: each request may see either value.
  std::size_t mapping_threshold() const { return mapping_threshold_.load(std::memory_order_relaxed); }
  void set_mapping_threshold(std::size_t bytes) {
    mapping_threshold_.store(std::min(bytes, largest_bucketed), std::memory_order_relaxed);
  }

  // Zeroed, aligned to 16, `bytes` a multiple of 16; no start: out of memory.
  extent carve(std::size_t bytes) {
    const std::lock_guard guard(lock_);
    if (static_cast<std::size_t>(area_.end - area_.start) < bytes && !add_area(bytes)) return {};
    const extent carved{area_.start, area_.start + bytes};
    area_.start = carved.end;
    counts_.carved_bytes += bytes;
    return carved;
  }

  // Gives `heap` a new buffer to carve. False: out of memory.
  bool extend_buffer_of(thread_heap& heap) {
    const extent more = carve(limits_.thread_buffer_bytes);
    if (more.start == nullptr) return false;
    const bool contiguous = heap.extend_buffer(more.start, more.end);
    const std::lock_guard guard(lock_);
    ++(contiguous ? counts_.buffers_contiguous : counts_.buffers_apart);
    return true;
  }

  // The free blocks of a bucket in one of the first few heaps of ended threads; no_link: they have none.
  // Without it, each heap would come to have as many free blocks of each bucket as any thread ever freed.
  link take_from_dead(std::size_t bucket) {
    const std::lock_guard guard(lock_);
    unsigned looks = 32;
    for (thread_heap* heap = dead_; heap != nullptr && looks > 0; heap = heap->next_dead, --looks)
      if (const link chain = heap->take_some(bucket); chain != no_link) return chain;
    return no_link;
  }

  // Returns the heap of an ended thread, or a new heap. Null: out of memory.
  thread_heap* take_heap() {
    const std::lock_guard guard(lock_);
    if (dead_ != nullptr) {
      thread_heap* const heap = dead_;
      dead_ = heap->next_dead;
      heap->dead = false;
      HEAPLAB_ASSERT_EXPENSIVE(heap->is_valid());
      ++counts_.heaps_reused;
      return heap;
    }
    if (chunk_.start == chunk_.end && !add_chunk()) return nullptr;
    thread_heap* const heap = new (chunk_.start) thread_heap;
    chunk_.start += sizeof(thread_heap);
    heap->next = all_;
    // A child of fork finds every heap in the list whole.
    std::atomic_signal_fence(std::memory_order_seq_cst);
    all_ = heap;
    ++counts_.heaps_new;
    return heap;
  }

  void give_heap_back(thread_heap& heap) {
    const std::lock_guard guard(lock_);
    bury(heap);
  }

  // True for an address inside an area.
  bool is_in_area(const void* address) const { return areas_.has(address); }

  // Calls visit(thread_heap&) for every heap there is, under the lock.
  template <class Visit>
  void for_each_heap(Visit visit) {
    const std::lock_guard guard(lock_);
    for (thread_heap* heap = all_; heap != nullptr; heap = heap->next) visit(*heap);
  }

  storage_counts counts() {
    const std::lock_guard guard(lock_);
    return counts_;
  }

  // In the child of fork only the thread that owns `survivor` exists, and another thread may have held the
  // lock. The heaps of all other threads now wait for new threads. Storage that was being handed out is lost.
  void after_fork_in_child(const thread_heap& survivor) {
    if (lock_.was_held()) area_ = chunk_ = {};
    dead_ = nullptr;
    for (thread_heap* heap = all_; heap != nullptr; heap = heap->next) {
      if (heap == &survivor) continue;
      if (!heap->dead) heap->forget_local_state();
      bury(*heap);
    }
    lock_.forget_holder();
  }

private:
  void bury(thread_heap& heap) {
    HEAPLAB_ASSERT_EXPENSIVE(heap.is_valid());
    heap.dead = true;
    heap.next_dead = dead_;
    dead_ = &heap;
  }

  // Takes an area of the usual size or, if the system refuses, of half of it and so on, down to `bytes`. The
  // rest of the present area was never touched, and costs only address space.
  bool add_area(std::size_t bytes) {
    const std::size_t least = align_up(bytes, os_pages::page_bytes());
    for (std::size_t wanted = std::max(limits_.area_bytes, least);; wanted = std::max(wanted / 2, least)) {
      char* const start = static_cast<char*>(Platform::reserve(wanted, os_pages::huge_page_bytes));
      if (start != nullptr) {
        if (!areas_.add({start, start + wanted})) {
          Platform::unmap(start, wanted);
          return false;
        }
        area_ = {start, start + wanted};
        ++counts_.areas;
        counts_.area_bytes += wanted;
        return true;
      }
      if (wanted == least) return false;
    }
  }

  bool add_chunk() {
    const std::size_t bytes = align_up(limits_.heaps_per_chunk * sizeof(thread_heap), os_pages::page_bytes());
    char* const start = static_cast<char*>(Platform::allocate(bytes, os_pages::page_bytes()));
    if (start == nullptr) return false;
    chunk_ = {start, start + limits_.heaps_per_chunk * sizeof(thread_heap)};
    return true;
  }

  // llheap's only lock. Held to obtain storage or a heap, never to allocate or free a block from a bucket.
  concurrent::futex_lock<concurrent::std_sync> lock_;
  atomic<bool> started_{false};
  atomic<std::size_t> mapping_threshold_{0};
  limits limits_;  // fixed once started
  extent area_;    // what is left of the newest area
  area_list<Platform> areas_;
  extent chunk_;  // heaps not yet made
  thread_heap* all_ = nullptr;
  thread_heap* dead_ = nullptr;
  storage_counts counts_;
};

}  // namespace heaplab::llheap
