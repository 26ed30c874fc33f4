// The frontend: malloc and free of blocks in spans.
//
// Three rules make every interleaving harmless.
//
//   settle   The word follows the counts. Whoever has freed a block into a span that is not hot looks at both
//            counts afterwards and, if an event is due, performs it: anybody may, because what is seen then
//            cannot become untrue before the compare-and-swap fails.
//   relist   The lists follow the word. Whoever has moved a span puts it, under the lock of its owner's
//            lists, where its present word says; whoever comes late finds it there and does no harm.
//   return   Only the thread whose event was all_free takes the span from its owner and gives it to the pool.
//
// The owner's free must not wait for its store to `used` to become visible before it looks at what others do
// (a fence on every free). Instead the first remote free of a span that is not hot asks for attention, in the
// word that every free reads, and from then on the owner's frees look. On a processor with store buffers
// both can miss each other if a span's first remote free and a local free happen within the same few tens of
// nanoseconds; an empty span may then stay floating until its owner next looks for a span (get_span asks the
// oldest floating span again), frees into it, trims or ends.
#pragma once

#include <cstddef>
#include <cstdint>

#include "allocators/scalloc/arena.h"
#include "allocators/scalloc/lab.h"
#include "allocators/scalloc/span.h"
#include "allocators/scalloc/span_pool.h"
#include "allocators/scalloc/tuning.h"
#include "base/assertion.h"
#include "base/compiler.h"
#include "concurrent/relaxed_compare.h"

namespace heaplab::scalloc {

template <class Traits>
class frontend {
public:
  using span_type = span<Traits>;
  using lab_type = lab<Traits>;
  using classes = typename Traits::classes;
  static_assert(classes::is_valid());

  // False: no address space. Once, before all else; until then allocate returns null.
  bool open(const tuning& chosen, unsigned columns);

  // --- the fast path: no lock, no atomic read-modify-write ---

  // Null: allocate_slow has to help.
  HEAPLAB_FAST_PATH static void* try_allocate(lab_type& local, unsigned class_index) {
    span_type& hot = *local.hot[class_index];
    if (hot.local_list == nullptr) [[unlikely]]
      return nullptr;
    return pop(hot);
  }

  // By the thread `self`. False: nothing was done, deallocate_slow has to. `due`: the block is free, and
  // after_free has to look at its span.
  HEAPLAB_FAST_PATH static bool try_deallocate(std::uintptr_t self, span_type& it, void* block, bool& due) {
    // relaxed: nobody but this thread makes it, or ceases to make it, the owner of a span that holds a block.
    if (concurrent::differs(it.owner_tag, self)) [[unlikely]]
      return false;
    if (it.local_list == block) [[unlikely]]
      return false;
    due = push(self, it, block);
    return true;
  }

  // --- everything else (frontend_slow.h, frontend_transitions.h) ---

  // Null: no memory.
  void* allocate_slow(lab_type& local, unsigned class_index);

  // fatal() for an address that is no live block's of `it`, as far as is seen.
  void deallocate_slow(lab_type& local, span_type& it, void* block);

  // After a local free that was `due`.
  void after_free(lab_type& local, span_type& it);

  // Whatever `local` owns becomes the orphanage's; empty spans go to the pool.
  void abandon(lab_type& local);

  // --- in the child of a fork, before all else; what lists of another owner hold is as it was ---

  // Lists that another thread was changing become empty. False: nobody was.
  static bool forget_torn_lists(lab_type& local);
  // Spans go into the lists that were forgotten, where their words say. The locks still show which those are.
  void refill_torn_lists();

  // Asks every span again whether an event is due; gives free memory back, but for about `pad` bytes. True if
  // there was any.
  bool trim(std::size_t pad);

  arena<Traits>& spans() { return spans_; }
  span_pool<Traits>& pool() { return pool_; }
  lab_type& orphanage() { return orphanage_; }
  unsigned columns() const { return pool_.columns(); }

  // In the child of a fork, before the buffers of the threads that are not there are abandoned: such a thread
  // may have stood between a list of blocks and their count.
  void expect_lost_counts() { counts_are_exact_ = false; }

  // --- invariants of a span at rest: while no thread works on it ---

  // Whether the span is in the list where its word says.
  bool is_listed(const span_type& it) const;
  // Whether every event that was due has been performed.
  bool is_settled(const span_type& it) const;

  const span_limits& limits_of(unsigned class_index) const { return limits_[class_index]; }

  // The size class of a live block; fatal() for an address that is no block's.
  static const size_class& class_of(const span_type& it, const void* block) {
    return class_of(it, it.load_word(std::memory_order_acquire), block);
  }

private:
  HEAPLAB_FAST_PATH static void* pop(span_type& hot) {
    void* const block = hot.local_list;
    void* const next = next_block(block);
    hot.local_list = next;
    // The next malloc of this class reads the link there, and who gets the block writes there.
    __builtin_prefetch(next, 1);
    hot.countdown.increment();
    return block;
  }

  // By the owner. Whether after_free has to look at the span.
  HEAPLAB_FAST_PATH static bool push(std::uintptr_t self, span_type& it, void* block) {
    next_block(block) = it.local_list;
    it.local_list = block;
    // From here on the span may be another's. The count goes down before attention is looked for: a remote
    // free asks for it before it looks at the count.
    const bool is_spent = it.countdown.decrement_is_spent();
    return is_spent || concurrent::differs(it.owner_tag, self);
  }

  // Freeing.
  static const size_class& class_of(const span_type& it, span_word seen, const void* block);
  void deallocate_remote(lab_type& local, span_type& it, void* block);
  span_word push_remote(span_type& it, void* block);

  // Making blocks available.
  bool refill(span_type& hot, std::int32_t worth);
  bool extend(span_type& hot);
  span_type* get_span(lab_type& local, unsigned class_index);
  span_type* reuse(lab_type& from, lab_type& local, unsigned class_index);
  span_type* take_free_span(lab_type& local, unsigned class_index);
  void ask_oldest_floating(lab_type& local, unsigned class_index);
  void return_empty_reusables(lab_type& local, unsigned class_index);

  // Of a hot span: what must hold after its local list was changed.
  bool is_counted(const span_type& hot) const { return !counts_are_exact_ || hot.counts_every_block(); }

  // Moving spans through their life.
  static auto* list_of(lab_type& owner, const span_type& it);
  void retire(lab_type& local, span_type& hot);
  void settle(span_type& it, std::uint32_t column);
  void relist(span_type& it);
  void return_span(span_type& it, std::uint32_t column);
  bool calm(lab_type& local, span_type& it);
  void adopt(lab_type& local, span_type& it);
  std::int32_t event_floor(span_state state, unsigned class_index) const;

  [[noreturn]] HEAPLAB_SLOW_PATH static void refuse_double_free(const void* block) {
    fatal("free of a block that is free already", block);
  }

  arena<Traits> spans_;
  span_pool<Traits> pool_;
  span_limits limits_[classes::count] = {};
  bool counts_are_exact_ = true;
  // Owns what belonged to threads that have ended.
  lab_type orphanage_;
};

}  // namespace heaplab::scalloc

#include "allocators/scalloc/frontend_slow.h"
#include "allocators/scalloc/frontend_transitions.h"
