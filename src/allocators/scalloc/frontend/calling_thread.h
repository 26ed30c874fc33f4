// The local allocation buffer of the calling thread. A thread gets a buffer with its first allocation, and
// hands the buffer back when it ends.
#pragma once

#include <pthread.h>
#include <sched.h>

#include <cstdint>

#include "allocators/scalloc/frontend/allocation.h"
#include "allocators/scalloc/frontend/freeing.h"
#include "allocators/scalloc/frontend/lab.h"
#include "allocators/scalloc/frontend/lab_registry.h"
#include "allocators/scalloc/frontend/returned_blocks.h"
#include "allocators/scalloc/frontend/span_life.h"
#include "base/compiler.h"
#include "base/fatal.h"

namespace heaplab::scalloc {

template <class Traits, span_life<Traits>& Life>
class calling_thread {
  using lab_type = lab<Traits>;
  using span_type = span<Traits>;
  using classes = typename Traits::classes;
  using policy = lab_policy<Traits>;
  using numbers = list_numbers<Traits::config>;

public:
  // The buffer of the thread. A thread that has none reads an empty buffer here, which is never written.
  HEAPLAB_FAST_PATH static lab_type* buffer() { return own_.buffer; }

  // --- the fast path ---

  // Null: allocate_slow must be called. Precondition: bytes, with the canary, <= lookup_limit.
  HEAPLAB_FAST_PATH static void* try_allocate(std::size_t bytes) {
    if constexpr (!policy::has_fast_path)
      return nullptr;
    else if constexpr (lab_type::has_lists)
      return own_.buffer->lists.pop(own_.list_of_step[classes::step_of(bytes)]);
    else
      return scalloc::try_allocate(*own_.buffer, classes::looked_up(bytes));
  }

  // False: nothing was done, and deallocate_slow must be called. Any address.
  HEAPLAB_FAST_PATH static bool try_deallocate(void* block) {
    bool due;
    if (!policy::has_fast_path || !scalloc::try_deallocate(Life, *own_.buffer, block, due)) [[unlikely]]
      return false;
    if (due) [[unlikely]]
      after_free(block);
    return true;
  }

  // --- everything else ---

  // Called where the fast path had no block. Null: no memory. `is_zero`: whether the block is known to hold
  // nothing but zeros. `make_room` is called where no memory is left, and says whether to try again.
  HEAPLAB_FAST_PATH static void* allocate_slow(unsigned class_index, bool& is_zero, bool (*make_room)()) {
    lab_type* const local = own_buffer(make_room);
    if (local == nullptr) return nullptr;
    if (local == &Life.orphanage) {
      const concurrent::lock_holder hold(local->use_lock);
      return scalloc::allocate_slow(Life, *local, class_index, is_zero);
    }
    const typename policy::use in_use(local);
    return scalloc::allocate_slow(Life, *local, class_index, is_zero);
  }

  // Whether the thread's list takes the block, which it had no room for.
  static bool list_again(void* block) {
    return has_buffer() && scalloc::list_again(Life, *own_.buffer, block);
  }

  // Frees a block that no list takes: of the coarse zone, of another owner, of a thread without a buffer, or
  // one that may be free.
  static void deallocate_slow(span_type& span, void* block) {
    const typename policy::use in_use(has_buffer() ? own_.buffer : nullptr);
    if constexpr (lab_type::has_lists)
      if (!has_buffer_to_free()) own_.buffer->lists.refuse(Life.arena.list_of(block));
    send_home(Life, *own_.buffer, span, block);
  }

  // Whether the thread has a buffer. A thread that only frees gets one after some frees: the first ones of a
  // thread wait for no lock, and a thread that frees few needs none.
  static bool has_buffer_to_free() {
    if (has_buffer()) [[likely]]
      return true;
    if (++frees_without_buffer_ <= most_frees_without_buffer) return false;
    own_buffer([] { return false; });
    return has_buffer();
  }

  static bool has_buffer() { return own_.buffer != &none_ && own_.buffer != &ended_; }

  // Leaves the thread no free block at hand. Others keep theirs, also those that sleep.
  static void flush() {
    if (policy::has_fast_path && has_buffer()) retire_hot_spans(Life, *own_.buffer);
  }
  static void flush_idle(std::int64_t) {}

  // Once in a process, before the first buffer is made. Where a thread with a buffer ends, end_of_thread gets
  // the buffer, and must call end().
  static void open(void (*end_of_thread)(void*)) {
    has_key_ = pthread_key_create(&thread_end_, end_of_thread) == 0;
  }

  static void end(void* lab) {
    own_.buffer = &ended_;
    labs_.detach(Life, *static_cast<lab_type*>(lab));
  }

  // Calls visit(class, number of blocks in a thread's list), with numbers of a moment ago.
  template <class Visit>
  static void for_each_cached(Visit&& visit) {
    labs_.for_each_listed(visit);
  }

  static void after_fork_in_child() { labs_.after_fork_in_child(Life, own_.buffer); }

private:
  // The buffer, made if need be; `make_room` as in allocate_slow. A thread whose destructors have run uses
  // the orphanage instead, under a lock: no later destructor would hand a buffer back. Null: no memory.
  static lab_type* own_buffer(bool (*make_room)()) {
    if (own_.buffer == &none_) return attach(make_room);
    return own_.buffer == &ended_ ? &Life.orphanage : own_.buffer;
  }

  HEAPLAB_SLOW_PATH static lab_type* attach(bool (*make_room)()) {
    if (Traits::config.pool_columns == 0)
      if (const int processor = sched_getcpu(); processor >= 0)
        Life.pool.see_processor(static_cast<unsigned>(processor));
    lab_type* lab = labs_.attach(Life.pool.columns());
    if (lab == nullptr && make_room()) lab = labs_.attach(Life.pool.columns());
    if (lab == nullptr) return nullptr;
    if constexpr (lab_type::has_lists) own_.list_of_step = numbers::lookups[lab->lists.owner()].data();
    own_.buffer = lab;
    // pthread_setspecific may allocate, from the buffer just set. Without a key, the buffer of a thread that
    // ends stays unused for the rest of the process's life.
    if (has_key_ && pthread_setspecific(thread_end_, lab) != 0)
      fatal("no thread-specific data for a thread's end");
    return lab;
  }

  // Marked as seldom called, so that the compiler assigns the registers of free for its fast path.
  HEAPLAB_SLOW_PATH static void after_free(void* block) {
    Traits::ensure_open();
    scalloc::after_free(Life, *own_.buffer, *Life.arena.find(block));
  }

  static constexpr std::uint32_t most_frees_without_buffer = 16;
  static constinit inline thread_local std::uint32_t frees_without_buffer_ = 0;

  static constinit inline lab_registry<Traits> labs_;
  static constinit inline pthread_key_t thread_end_ = 0;
  static constinit inline bool has_key_ = false;

  // Stand for the buffer of a thread that has none yet, and of a thread that has none any more. They own
  // nothing, have no blocks, and are never written.
  static constinit inline lab_type none_;
  static constinit inline lab_type ended_;
  struct of_thread {
    lab_type* buffer = &none_;
    // For each size the list of which the thread allocates.
    const std::uint8_t* list_of_step = numbers::lookups[0].data();
  };
  static constinit inline thread_local of_thread own_;
};

}  // namespace heaplab::scalloc
