// The frontend: malloc and free of blocks in spans.
//
// The walk: who calls whom, fast path first. DESIGN.md, section 1, has the way from malloc and free to here.
//
//   try_allocate                    frontend.h                fast path of malloc
//     pop                           free_lists.h              the first block of the thread's list
//   allocate_slow                   frontend_slow.h           that list is empty
//     allocate_at_home              frontend_slow.h           where threads share spans: under a lock
//     allocate_from                 frontend_slow.h           in this order:
//       refill                      frontend_slow.h           blocks of the hot span that other threads freed
//       extend                      frontend_slow.h           blocks of the span that are in no list
//         take_hot_holes            frontend_holes.h          of pages that went back, with the remote list
//         fill_hole                 frontend_holes.h          of pages that went back
//         link_fresh                frontend_slow.h           fresh blocks, a batch at a time
//       change_hot                  frontend_slow.h           another span becomes hot:
//         replace                   frontend_slow.h           the hot span is dry: the event that is due
//           make_floating           span_moves.h
//           take_reusable           frontend_slow.h           a reusable span of the thread becomes hot
//           apply_due_event         span_life.h
//         get_span                  frontend_slow.h           no reusable span was left, or no span was hot
//           recheck_oldest_floating frontend_slow.h           a span that two threads emptied at once
//           reuse                   frontend_slow.h           a span of the thread, or one given away
//           hand_over_idle          span_moves.h              spans of classes that the thread does not use
//           take_free_span          frontend_slow.h
//             get                   span_pool.h               an empty span
//             carve                 arena.h                   a span that was never used
//       pop_and_fill                returned_blocks.h         the span has blocks now
//         take_all                  span.h
//         take                      span.h                    of a span that threads share: some
//         fill                      free_lists.h              for the thread's list
//         pop                       free_lists.h              one of them for the caller
//   try_deallocate                  frontend.h                fast path of free
//     has_room                      free_lists.h
//     push                          free_lists.h              onto the thread's list, whoever owns the block
//   list_again                      frontend_frees.h          the list had no room:
//     put_in_list                   frontend_frees.h
//       make_room                   returned_blocks.h         all but the newest blocks go home
//         cut                       free_lists.h
//         add                       returned_blocks.h         to their spans, a chain for each
//   send_home                       frontend_frees.h          no list takes the block; it has a mark
//     deallocate_own                frontend_frees.h          a block of the owner's own span
//       is_free_already             frontend_frees.h          a marked block: ends the process if it is free
//       push                        frontend.h
//       after_free                  frontend_frees.h
//     deallocate_remote             frontend_frees.h          blocks of another owner's span
//       push_remote                 frontend_frees.h          onto the lock-free list in the span's word
//       settle_remote               frontend_frees.h          the span is not hot: its event may be due
//         apply_due_event           span_life.h
//   after_free                      frontend_frees.h          its count or attention bit: an event may be due
//     move_if_due                   span_moves.h              moves the span's word
//     return_span                   span_moves.h              the span is empty: to the pool
//       put                         span_pool.h
//     place                         span_moves.h              the span is reusable: to that list
//     clear_attention               span_moves.h              later frees take the fast path again
//     apply_due_event               span_life.h               if another thread came in between
//       apply_event                 span_moves.h
//         move_if_due               span_moves.h
//         return_span               span_moves.h
//         sync_list                 span_moves.h              to the list that the word names
//
// Without lists, as in the paper, malloc pops from the hot span, and free pushes onto the block's own span.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "allocators/scalloc/frontend/lab.h"
#include "allocators/scalloc/frontend/span_life.h"
#include "allocators/scalloc/frontend/span_reclaim.h"
#include "allocators/scalloc/policy/tuning.h"
#include "allocators/scalloc/spans/block_checks.h"
#include "allocators/scalloc/spans/freed_blocks.h"
#include "allocators/scalloc/spans/span.h"
#include "base/assertion.h"
#include "base/compiler.h"
#include "base/narrow.h"
#include "concurrent/relaxed_compare.h"

namespace heaplab::scalloc {

template <class Traits>
class frontend {
public:
  using span_type = span<Traits>;
  using lab_type = lab<Traits>;
  using life_type = span_life<Traits>;
  using classes = typename Traits::classes;

  // Called once, before every other function; until then allocate returns null. False: no address space.
  bool open(const tuning& chosen, unsigned columns) { return life_.open(chosen, columns); }

  // --- the fast path: no lock, no atomic read-modify-write ---

  // Null: no free block is at hand, and allocate_slow must be called.
  HEAPLAB_FAST_PATH static void* try_allocate(lab_type& local, std::size_t class_index) {
    if constexpr (has_lists)
      return local.lists.pop(class_index);
    else
      return try_pop(*local.hot[class_index]);
  }

  // False: nothing was done, and deallocate_slow must be called. `due`: the block is free, and after_free
  // must be called for its span. Any address.
  HEAPLAB_FAST_PATH bool try_deallocate(lab_type& local, void* block, bool& due) const {
    const std::size_t step = life_.spans().step_of(block);
    if constexpr (has_lists) {
      const page_map<Traits>& map = life_.spans().map();
      if (!map.covers(step)) [[unlikely]]
        return false;
      const std::size_t list = map.at(step);
      if (is_marked(block, map.address()) || !local.lists.has_room(list)) [[unlikely]]
        return false;
      mark(block, map.address());
      local.lists.push(list, block);
      due = false;
      return true;
    } else {
      if (!life_.spans().in_fine_zone(step)) [[unlikely]]
        return false;
      return try_deallocate(local, life_.spans().fine_span_at(step), block, due);
    }
  }

  // The same, where the span is known, without lists.
  HEAPLAB_FAST_PATH static bool try_deallocate(const lab_type& local, span_type& span, void* block,
                                               bool& due) {
    if (!span.is_owned_by(local) || span.local_list == block) [[unlikely]]
      return false;
    due = push(local, span, freed_block{block});
    return true;
  }

  // Whether the block is in a list of free blocks; without marks, whether it is the first of its span's.
  // `local` is the buffer of the caller, which owns the span, or the orphanage.
  bool is_free_already(lab_type& local, span_type& span, const void* block);
  [[noreturn]] HEAPLAB_SLOW_PATH static void refuse_double_free(const void* block) {
    fatal("free of a block that is free already", block);
  }
  void mark_free(void* block) const {
    if constexpr (has_lists) mark(block, life_.spans().map().address());
  }
  bool looks_free(const void* block) const {
    return has_lists && is_marked(block, life_.spans().map().address());
  }

  // --- everything else (frontend_slow.h, frontend_frees.h, frontend_holes.h, returned_blocks.h,
  // batched_frees.h, end_of_thread.h) ---

  // Null: no memory. `is_zero`: whether the block is known to hold nothing but zeros.
  void* allocate_slow(lab_type& local, unsigned class_index, bool& is_zero);

  // Whether the list of the thread's buffer takes the block, after a part of the list went home.
  bool list_again(lab_type& local, void* block);
  // Past the lists. fatal() for an address at which no live block of `span` begins, as far as the span's
  // record shows.
  void send_home(lab_type& local, span_type& span, void* block);

  // Puts a marked block into a list of the buffer.
  void put_in_list(lab_type& local, unsigned list, void* block);

  // Frees marked blocks of one class, which were live until then.
  void take_back(lab_type& local, unsigned class_index, void* const* blocks, unsigned count);

  // Of a hardened heap, with a block that leaves quarantine and that try_deallocate has not taken: gives the
  // block back, or lets it wait for others of its span.
  void deallocate_later(lab_type& local, span_type& span, void* block);

  // After a local free that was `due`.
  void after_free(lab_type& local, span_type& span);

  // The buffer has no listed block and its home no hot span any more, so that others may give back what is
  // free in them. Called by the owner.
  void retire_hot_spans(lab_type& local);

  // Hands all spans of `local` to the orphanage, and empty spans to the pool.
  void abandon(lab_type& local);

  // --- while the pages of a span's holes go back to the system (hole_sweep.h, frontend_holes.h) ---

  // Takes the remote list of a hot span, and frees again what borrow(first block, freed chain) leaves of it
  // there; the blocks that begin in the pages that borrow() returns are in that chain no more. A null chain
  // is lost.
  template <class Borrow>
  void borrow_remote(span_type& span, Borrow&& borrow);

  life_type& life() { return life_; }
  const life_type& life() const { return life_; }
  span_reclaim<Traits> reclaim() { return span_reclaim<Traits>(life_); }
  arena<Traits>& spans() { return life_.spans(); }
  span_pool<Traits>& pool() { return life_.pool(); }
  lab_type& orphanage() { return life_.orphanage(); }
  unsigned columns() { return pool().columns(); }

  // Called in the child of a fork, before the buffers of vanished threads are abandoned: such a thread may
  // have stood between changing a list of blocks and changing their count.
  void expect_lost_counts() { counts_are_exact_ = false; }

  // The size class of a live block; fatal() for an address at which no block begins.
  static const size_class& class_of(const span_type& span, const void* block) {
    return class_of(span, span.load_word(std::memory_order_acquire), block);
  }

private:
  static constexpr bool has_lists = lab_type::has_lists;

  HEAPLAB_FAST_PATH static void* pop(span_type& hot) {
    void* const block = hot.local_list;
    void* const next = hot.secrets.next_of(block);
    hot.local_list = next;
    if constexpr (has_lists) mark(block, nullptr);
    // The next malloc of this class reads the link in that block, and its caller writes to the block.
    __builtin_prefetch(next, 1);
    hot.countdown.increment();
    if constexpr (Traits::settings.hardened) hand_out(hot, block);
    return block;
  }

  HEAPLAB_FAST_PATH static void* try_pop(span_type& hot) {
    if (hot.local_list == nullptr) [[unlikely]]
      return nullptr;
    return pop(hot);
  }

  // Called by the owner. True: after_free must be called for the span.
  template <class Freed>
  HEAPLAB_FAST_PATH static bool push(const lab_type& local, span_type& span, Freed freed) {
    span.secrets.link(freed.oldest(), span.local_list);
    // release publishes the link to a sweep of holes.
    atomic_ref<void*>(span.local_list).store(freed.newest(), std::memory_order_release);
    // After the count another thread may own the span. The count goes down before the attention bit is read,
    // as a remote free sets the bit before it reads the count (Dekker pattern).
    const bool is_spent = span.countdown.decrease_is_spent(narrow<std::int32_t>(freed.count()));
    return is_spent || !span.is_quietly_owned_by(local);
  }

  // Freeing.
  static const size_class& class_of(const span_type& span, span_word seen, const void* block);
  static const size_class& class_at(const span_type& span, const void* block);
  void deallocate_own(lab_type& local, span_type& span, void* block);
  template <class Freed>
  void deallocate_remote(lab_type& local, span_type& span, Freed freed);
  template <class Freed>
  span_word push_remote(span_type& span, Freed freed);
  void settle_remote(span_type& span, span_word before, lab_type* local);
  void begin_batch(lab_type& local, span_type& span, void* block);
  template <class Batch>
  static bool is_full(const Batch& batch, const span_type& span);
  template <class Batch>
  void give_back(lab_type& local, Batch& batch);

  // Making blocks available.
  void* allocate_at_home(lab_type& local, unsigned class_index, bool& is_zero);
  void* allocate_from(lab_type& home, lab_type& local, unsigned class_index, bool& is_zero);
  bool change_hot(lab_type& local, unsigned class_index);
  bool refill(span_type& hot, std::int32_t worth);
  bool extend(span_type& hot);
  bool fill_hole(span_type& hot);
  bool take_hot_holes(span_type& hot);
  static void* link_fresh(span_type& hot, std::uint32_t count, const size_class& kind);
  span_type* get_span(lab_type& local, unsigned class_index);
  span_type* reuse(lab_type& from, lab_type& local, unsigned class_index);
  span_type* take_reusable(lab_type& from, lab_type& local, unsigned class_index);
  span_type* replace(lab_type& local, span_type& hot);
  span_type* take_free_span(lab_type& local, unsigned class_index);
  void recheck_oldest_floating(lab_type& local, unsigned class_index);
  void return_empty_reusables(lab_type& local, unsigned class_index);

  // Free lists.
  class returned_blocks;
  static void* pop_and_fill(lab_type& local, unsigned class_index, span_type& hot);
  void make_room(lab_type& local, unsigned class_index);
  void empty_lists(lab_type& local);

  void retire_own_hot_spans(lab_type& local);

  // The invariant of a hot span after a change of its local list.
  bool is_counted(const span_type& hot) const { return !counts_are_exact_ || hot.counts_every_block(); }

  life_type life_;
  bool counts_are_exact_ = true;
};

}  // namespace heaplab::scalloc

#include "allocators/scalloc/frontend/batched_frees.h"
#include "allocators/scalloc/frontend/end_of_thread.h"
#include "allocators/scalloc/frontend/frontend_frees.h"
#include "allocators/scalloc/frontend/frontend_holes.h"
#include "allocators/scalloc/frontend/frontend_slow.h"
#include "allocators/scalloc/frontend/returned_blocks.h"
