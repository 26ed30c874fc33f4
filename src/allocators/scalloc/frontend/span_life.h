// The life of spans between the arena and the frontend: who owns a span, in which list of the owner the span
// is, and which events move it.
//
// Three rules make every interleaving harmless.
//
//   apply_due_event  The span's word follows the counts. A thread that has freed a block into a span that is
//                    not hot reads both counts afterwards, and performs the event that is due. Any thread
//                    may do so: what the thread has read stays true until a compare-and-swap on the word
//                    fails.
//   sync_list        The lists follow the word. A thread that has moved a span puts the span, under the lock
//                    of its owner's lists, into the list that the present word names. A thread that comes
//                    late finds the span there and changes nothing.
//   return_span      Only the thread whose event was all_free takes the span from its owner and gives the
//                    span to the pool.
//
// Counting and looking is a Dekker pattern: owner and remote thread each write their own count and then read
// the other's, so that one of them sees both. The owner's free has no fence between its store and its load.
// Instead, the first remote free of a span that is not hot sets the attention bit, and from then on the
// owner's frees into that span look at the remote list. On a processor with store buffers both
// threads can miss each other if a span's first remote free and a local free happen within the same few tens
// of nanoseconds. An empty span may then stay floating until its owner frees into the span, trims, ends, or
// looks for a span: get_span checks the oldest floating span again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "allocators/scalloc/arena/arena.h"
#include "allocators/scalloc/frontend/lab.h"
#include "allocators/scalloc/policy/config.h"
#include "allocators/scalloc/pool/span_pool.h"
#include "allocators/scalloc/spans/span.h"
#include "base/assertion.h"
#include "base/compiler.h"
#include "base/narrow.h"
#include "base/os_pages.h"

namespace heaplab::scalloc {

template <class Traits>
class span_life {
public:
  using span_type = span<Traits>;
  using lab_type = lab<Traits>;
  using list_type = concurrent::checked_deque<typename Traits::sync, span_type>;
  using classes = typename Traits::classes;
  static constexpr bool has_lists = lab_type::has_lists;
  static_assert(classes::is_valid());

  scalloc::arena<Traits> arena;
  span_pool<Traits> pool;
  // Owns the spans of threads that have ended.
  lab_type orphanage;

  // Called once, before every other function. False: no address space.
  bool open(const tuning& chosen, unsigned columns) {
    for (unsigned index = 0; index < classes::count; ++index) {
      const auto blocks = narrow<std::int32_t>(classes::table[index].blocks);
      const auto part = [blocks](unsigned percent) { return blocks * narrow<std::int32_t>(percent) / 100; };
      const unsigned refill_percent = std::min(Traits::config.refill_percent, chosen.reuse_percent);
      limits_[index] = {.reuse_live = blocks - part(chosen.reuse_percent) - 1,
                        .refill_count = part(refill_percent) + 1,
                        .eager_return = Traits::config.eager_return};
    }
    pool.open(columns, chosen);
    return arena.open(chosen.arena_bytes, chosen.huge_pages);
  }

  const span_limits& limits_of(unsigned class_index) const { return limits_[class_index]; }

  // Purges memory that was not needed for a decay period; `now` is in ms. True if much is left.
  bool purge_unneeded(std::int64_t now) {
    pool.decay(arena, now);
    if (pool.retains_much()) return true;
    arena.keep_small_pages();
    pool.sweep_records(arena, record_sweep_bytes);
    return false;
  }

  // Applies every due event, then purges free memory but for about `pad` bytes. True if any was purged.
  bool trim(std::size_t pad) {
    arena.for_each_span([this](span_type& span) { apply_due_event(span, 0); });
    const bool any = pool.purge_all(arena, pad);
    pool.sweep_records(arena, os_pages::page_bytes());
    return any;
  }

  // --- events ---

  // Moves the word by the event that is due. Returns the event, after which the caller moves the span;
  // nothing if none was due. Correct for any span at any time, by any thread.
  std::optional<span_event> move_if_due(span_type& span) {
    // seq_cst: after this thread's change of one count, and before its load of the other (Dekker pattern).
    span_word seen = span.load_word(std::memory_order_seq_cst);
    for (;;) {
      const unsigned class_index = span.class_index.load(std::memory_order_relaxed);
      // The counts are read after the word: if the compare-and-swap finds the word unchanged, the counts are
      // of its tenure.
      const std::int32_t live = span.live_blocks(seen);
      const std::optional<span_event> event = due_event(seen.state(), live, limits_[class_index]);
      if (!event) return event;
      if (live < 0 && span.load_word(std::memory_order_seq_cst) == seen)
        fatal("a block was freed twice in the span of", span.base);
      const span_word next = *event == span_event::all_free ? seen.all_free() : seen.mostly_free();
      if (span.try_move(seen, next, std::memory_order_acq_rel)) return event;
    }
  }

  // Performs the event that is due. False: none was. Correct for any span at any time, by any thread.
  HEAPLAB_FAST_PATH bool apply_due_event(span_type& span, std::uint32_t column) {
    // Saves the call in the common case. The word is read before the counts, as in move_if_due.
    const span_word seen = span.load_word(std::memory_order_seq_cst);
    if (span.live_blocks(seen) > event_floor(seen.state(), span.class_index.load(std::memory_order_relaxed)))
      return false;
    return apply_event(span, column);
  }

  // An event may be due when at most this many blocks are used.
  std::int32_t event_floor(span_state state, unsigned class_index) const {
    return state == span_state::floating ? std::max(limits_[class_index].reuse_live, 0) : 0;
  }

  // The floor of a hot span, where no event is due.
  static constexpr std::int32_t hot_floor = -1;
  // A thread that sees many spans lose blocks asks for somebody who looks for holes.
  void count_event(lab_type& local, const span_type& span) {
    if (!Traits::config.purges_holes || !local.adopts) return;
    local.emptied_bytes += span.kind().real_span_bytes;
    if (local.emptied_bytes < Traits::config.hole_sweep_bytes) [[likely]]
      return;
    local.emptied_bytes = 0;
    if (arena.carved_bytes() >= Traits::config.hole_sweep_bytes) Traits::ask_for_purge();
  }

  // --- from hot to floating; called by the owner ---

  // The first half of retiring a hot span: the span is floating, and still in no list.
  void make_floating(lab_type& local, span_type& hot) {
    const unsigned class_index = hot.class_index.load(std::memory_order_relaxed);
    HEAPLAB_ASSERT(hot.is_hot_in(local, class_index));
    // All blocks of a dry span are out, so that its count is known and is set anew. In a child of fork the
    // old count may miss a block that was taken and not yet counted; the span would stay reusable, and dry,
    // for ever.
    const std::uint32_t blocks = hot.kind().blocks;
    const bool is_dry = hot.local_list == nullptr && hot.fresh == blocks && hot.holes == 0 &&
                        hot.hot_holes.load(std::memory_order_relaxed) == 0;
    const std::int32_t used = is_dry ? narrow<std::int32_t>(blocks) : hot.used();
    hot.set_used(used, event_floor(span_state::floating, class_index));
    span_word seen = hot.load_word(std::memory_order_relaxed);
    do {
      hot.set_owner(&local, seen.remote_count() > 0 ? span_type::attention : 0);
      // seq_cst: publishes the counts and the local list to the thread that applies an event or reuses the
      // span, and orders them before the load of the word in apply_due_event.
    } while (!hot.try_move(seen, seen.retire(), std::memory_order_seq_cst));
  }

  HEAPLAB_OUT_OF_LINE void retire(lab_type& local, span_type& hot) {
    make_floating(local, hot);
    sync_list(hot);
    apply_due_event(hot, local.column);
  }

  // Lets the owner's frees take the fast path until the next event may be due, unless the remote list has
  // blocks. Called by the owner, which holds the lock of its lists: without it no thread returns the span, so
  // that the counts are those of this tenure. Returns false if a remote free came in between, which may have
  // read the counts while they changed.
  HEAPLAB_OUT_OF_LINE bool clear_attention(lab_type& local, span_type& span) {
    const span_word seen = span.load_word(std::memory_order_seq_cst);
    if (seen.remote_count() > 0) return true;
    const std::int32_t floor = event_floor(seen.state(), span.class_index.load(std::memory_order_relaxed));
    if (floor < span.countdown_floor.load(std::memory_order_relaxed)) span.lower_floor(floor);
    span.set_owner(&local, 0, std::memory_order_seq_cst);
    if (span.load_word(std::memory_order_seq_cst) == seen) return true;
    // The store to the owner may have erased the attention bit of that remote free.
    span.ask_for_attention();
    return false;
  }

  // --- owners and lists ---

  // Puts a span of `owner` into the list that its word names. Called by the holder of the lock of owner's
  // lists.
  void relist(lab_type& owner, span_type& span) {
    auto* const list = list_of(owner, span);
    if (span.hook.in != nullptr && span.hook.in != list) span.hook.in->remove(span);
    if (list != nullptr) list->put_newest(span);
  }

  // The span becomes hot: lists take its blocks. Called as set_owner is.
  HEAPLAB_OUT_OF_LINE void enlist(span_type& span, const lab_type& owner) {
    if constexpr (has_lists) {
      const unsigned list = owner.lists.own_list(span.class_index.load(std::memory_order_relaxed));
      if (arena.list_of(span) != list) arena.set_list(span, narrow<std::uint8_t>(list));
    }
  }

  // The span is nobody's, and no list takes its blocks. Called by the holder of the lock of the present
  // owner's lists, which has made the span free.
  void disown(span_type& span) {
    if constexpr (has_lists) arena.set_list(span, 0);
    span.set_owner(nullptr);
  }

  // Drains a span of which less than half is live: takes the span from the page map until it is hot again.
  // So frees into it miss the fast path, and none of its blocks is listed: they go home, and the span becomes
  // empty while dense spans serve. Called by the holder of the lock of the owner's lists; the span is not
  // hot.
  void drain_if_sparse(span_type& span) {
    if constexpr (!has_lists) return;
    const std::int32_t live = span.live_blocks(span.load_word(std::memory_order_relaxed));
    if (2 * live < narrow<std::int32_t>(span.kind().blocks)) arena.set_list(span, 0);
  }

  // Precondition: this thread made the span free. Takes the span from its owner, which no other thread does;
  // a span whose holes are being purged is left to the thread that purges them.
  void return_span(span_type& span, std::uint32_t column) {
    while (lab_type* const owner = span.owner(std::memory_order_acquire)) {
      const concurrent::lock_holder hold(owner->lists_lock);
      if (span.owner(std::memory_order_relaxed) != owner) continue;
      if (span.purging != purge_state::none) {
        span.purging = purge_state::under_way_and_free;
        return;
      }
      if (span.hook.in != nullptr) span.hook.in->remove(span);
      disown(span);
    }
    pool.put(arena, span, column);
    pool.decay_without_purge_thread(arena);
  }

  // Makes the owner of `local`, which frees a block of an orphan, the owner of the orphan.
  void adopt(lab_type& local, span_type& span) {
    {
      const concurrent::lock_holder hold(orphanage.lists_lock);
      if (span.owner(std::memory_order_relaxed) != &orphanage) return;
      const span_state state = span.load_word(std::memory_order_acquire).state();
      if (state != span_state::floating && state != span_state::reusable) return;
      if (span.hook.in != nullptr) span.hook.in->remove(span);
      span.set_owner(&local, span_type::attention);
    }
    sync_list(span);
  }

  // Hands some reusable spans of an idle class over to the orphanage. Called by the owner, which looks for a
  // span.
  HEAPLAB_OUT_OF_LINE void abandon_idle(lab_type& local) {
    if (Traits::config.idle_class_spans == 0 || Traits::sync::is_alone()) return;
    // A thread whose destructors have run uses the orphanage itself.
    if (&local == &orphanage) return;
    const unsigned index = local.class_to_look_at;
    if (local.reusable[index].looks_empty() || !is_idle(local, index)) {
      local.class_to_look_at = (index + 1) % classes::count;
      return;
    }
    const concurrent::lock_holder hold_own(local.lists_lock);
    const concurrent::lock_holder hold(orphanage.lists_lock);
    abandon_oldest(local.reusable[index], orphanage.reusable[index], Traits::config.idle_class_spans);
  }

  // Hands spans over to the orphanage, abandon_step at most. False: none is left. Between two calls another
  // thread may move spans from one list of `local` to another, or empty them; only this thread could add one.
  bool abandon_some(lab_type& local) {
    const concurrent::lock_holder hold_own(local.lists_lock);
    const concurrent::lock_holder hold(orphanage.lists_lock);
    unsigned left = Traits::config.abandon_step;
    for (unsigned index = 0; index < classes::count; ++index) {
      left = abandon_oldest(local.floating[index], orphanage.floating[index], left);
      left = abandon_oldest(local.reusable[index], orphanage.reusable[index], left);
    }
    left = abandon_oldest(local.purging, orphanage.purging, left);
    HEAPLAB_ASSERT_EXPENSIVE(local.is_valid() && orphanage.is_valid());
    return left == 0;
  }

  // --- in the child of a fork, before every other function; the lists of all other buffers are whole ---

  // A vanished thread may have stood between changing a list of blocks and changing their count.
  void expect_lost_counts() { counts_are_exact_ = false; }

  // Empties the lists of a buffer that another thread was changing. False: no thread was.
  static bool forget_torn_lists(lab_type& local) {
    if (!local.lists_lock.was_held()) return false;
    for (auto& list : local.floating) list.forget_all();
    for (auto& list : local.reusable) list.forget_all();
    local.purging.forget_all();
    return true;
  }

  // Puts spans back into the forgotten lists, each where its word says. The locks, still held, show which
  // lists were forgotten.
  //
  // A thread that takes a span from its owner first removes the span from the owner's list, under the same
  // lock. So a span is in no list but its present owner's, at whatever instruction a thread was stopped.
  void refill_torn_lists() {
    arena.for_each_span([](span_type& span) {
      lab_type* const owner = span.owner(std::memory_order_relaxed);
      if (owner == nullptr || !owner->lists_lock.was_held()) return;
      span.hook = {};
      if (auto* const list = list_of(*owner, span)) list->put_newest(span);
    });
  }

  // Finishes what another thread had begun with a hot span of `local`. The locks are free.
  //
  // A buffer names a span from before it becomes hot (take_reusable) until after it has ceased to be hot
  // (allocate_slow, abandon). So the buffer of a vanished thread names all its hot spans that have blocks,
  // and maybe spans that are not hot, or not its own. If the fork came after a change of a span's counts and
  // before the change of the word that goes with it, the counts are wrong, and later frees would look like
  // double frees.
  void repair_hot_spans(lab_type& local) {
    for (unsigned index = 0; index < classes::count; ++index) {
      span_type& span = *local.hot[index];
      const bool is_hot = span.load_word(std::memory_order_relaxed).state() == span_state::hot;
      if (is_hot && span.owner(std::memory_order_relaxed) == &orphanage) span.set_owner(&local);
      const bool is_own = span.owner(std::memory_order_relaxed) == &local;
      if (is_hot && is_own) {
        // If the floor is that of a hot span, the fork did not fall between the changes of counts and word,
        // and the counts are right. A write without need would make the child copy a page of records.
        if (span.countdown_floor.load(std::memory_order_relaxed) != hot_floor)
          span.set_used(span.used(), hot_floor);
        continue;
      }
      local.hot[index] = &no_span<Traits>;
      if (is_own) sync_list(span), apply_due_event(span, local.column);
    }
  }

  // --- invariants of a span at rest: no thread is working on the span ---

  // Whether the span is in the list where its word says.
  bool is_listed(const span_type& span) const {
    lab_type* const owner = span.owner(std::memory_order_seq_cst);
    const list_type* const list = owner != nullptr ? list_of(*owner, span) : nullptr;
    return list != nullptr ? list->contains(span) : span.hook.in == nullptr;
  }

  // Whether the page map agrees with the record.
  bool is_in_page_map(const span_type& span) const {
    if constexpr (!has_lists) return true;
    const unsigned class_index = span.class_index.load(std::memory_order_relaxed);
    const size_class& kind = classes::table[class_index];
    const span_state state = span.load_word(std::memory_order_seq_cst).state();
    const unsigned list = arena.list_of(span);
    const bool may_be_listed = state != span_state::free && kind.most_cached > 0;
    if (list != 0 && (list_numbers<Traits::config>::class_of[list] != class_index || !may_be_listed))
      return false;
    if (list == 0 && may_be_listed && state == span_state::hot) return false;
    for (std::uint32_t number = 0; number < kind.blocks; ++number)
      if (arena.list_of(span.block_at(number, kind)) != list) return false;
    return true;
  }

  // Whether every due event has been applied.
  bool has_no_due_event(const span_type& span) const {
    const span_word word = span.load_word(std::memory_order_seq_cst);
    const span_limits& limits = limits_[span.class_index.load(std::memory_order_relaxed)];
    return due_event(word.state(), span.live_blocks(word), limits) == std::nullopt;
  }

  // The same for the count of a hot span, after a change of its local list.
  bool is_counted(const span_type& hot) const { return !counts_are_exact_ || hot.counts_every_block(); }

private:
  HEAPLAB_OUT_OF_LINE bool apply_event(span_type& span, std::uint32_t column) {
    const std::optional<span_event> event = move_if_due(span);
    if (event == span_event::all_free)
      return_span(span, column);
    else if (event)
      sync_list(span);
    return event.has_value();
  }

  // Whether the owner of `local` has neither allocated from a class nor freed into it since the last look.
  // Each malloc and each free changes the list and the count of the hot span; a class that has come back to
  // both needs no more spans either.
  static bool is_idle(lab_type& local, unsigned class_index) {
    const span_type& hot = *local.hot[class_index];
    const auto list = low_bits<std::uint32_t>(reinterpret_cast<std::uintptr_t>(hot.local_list) >> step_shift);
    std::uint32_t seen = list ^ low_bits<std::uint32_t>(hot.countdown.read_own());
    if constexpr (has_lists) seen ^= local.lists.trace_of(class_index);
    return std::exchange(local.last_seen[class_index], seen) == seen;
  }

  // The background purge thread gives back records of free spans without memory once so many bytes of records
  // may go. Less looks for them more often, at 9 ms for 32 MiB of records (docs/decisions/0042); so much may
  // stay for good.
  static constexpr std::size_t record_sweep_bytes = 1 * mib;
  // Hands at most `most` spans over, the oldest first. Returns how many of `most` are left. Called by the
  // holder of the locks of both lists.
  unsigned abandon_oldest(list_type& from, list_type& to, unsigned most) {
    for (; most > 0; --most) {
      span_type* const span = from.take_oldest();
      if (span == nullptr) break;
      span->set_owner(&orphanage);
      to.put_newest(*span);
    }
    return most;
  }

  // The list of `owner` where the span belongs, mostly as its word says; null: none.
  static list_type* list_of(lab_type& owner, const span_type& span) {
    if (span.purging != purge_state::none) return &owner.purging;
    const unsigned class_index = span.class_index.load(std::memory_order_relaxed);
    const span_state state = span.load_word(std::memory_order_acquire).state();
    return state == span_state::floating   ? &owner.floating[class_index]
           : state == span_state::reusable ? &owner.reusable[class_index]
                                           : nullptr;
  }

  // Puts the span into the list of its owner that its word names. Correct for any span at any time, by any
  // thread.
  HEAPLAB_OUT_OF_LINE void sync_list(span_type& span) {
    while (lab_type* const owner = span.owner(std::memory_order_acquire)) {
      const concurrent::lock_holder hold(owner->lists_lock);
      if (span.owner(std::memory_order_relaxed) == owner) return relist(*owner, span);
    }
  }

  span_limits limits_[classes::count] = {};
  bool counts_are_exact_ = true;
};

}  // namespace heaplab::scalloc
