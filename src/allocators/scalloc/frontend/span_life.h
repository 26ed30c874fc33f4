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

#include <cstdint>
#include <optional>

#include "allocators/scalloc/arena/arena.h"
#include "allocators/scalloc/frontend/lab.h"
#include "allocators/scalloc/policy/tuning.h"
#include "allocators/scalloc/pool/span_pool.h"
#include "allocators/scalloc/spans/span.h"
#include "base/assertion.h"
#include "base/compiler.h"

namespace heaplab::scalloc {

template <class Traits>
class span_life {
public:
  using span_type = span<Traits>;
  using lab_type = lab<Traits>;
  using classes = typename Traits::classes;
  static constexpr bool has_lists = lab_type::has_lists;
  static_assert(classes::is_valid());

  scalloc::arena<Traits> arena;
  span_pool<Traits> pool;
  // Owns the spans of threads that have ended.
  lab_type orphanage;

  // Called once, before every other function. False: no address space.
  bool open(const tuning& chosen, unsigned columns);

  const span_limits& limits_of(unsigned class_index) const { return limits_[class_index]; }

  // --- events ---

  // Moves the word by the event that is due. Returns the event, after which the caller moves the span;
  // nothing if none was due. Correct for any span at any time, by any thread.
  std::optional<span_event> move_if_due(span_type& span);
  // Performs the event that is due. False: none was. Correct for any span at any time, by any thread.
  HEAPLAB_FAST_PATH bool apply_due_event(span_type& span, std::uint32_t column) {
    return may_be_due(span) && apply_event(span, column);
  }
  // An event may be due when at most this many blocks are used.
  std::int32_t event_floor(span_state state, unsigned class_index) const;
  // The floor of a hot span, where no event is due.
  static constexpr std::int32_t hot_floor = -1;
  // A thread that sees many spans lose blocks asks for somebody who looks for holes.
  void count_event(lab_type& local, const span_type& span);

  // --- from hot to floating; called by the owner ---

  // The first half of retiring a hot span: the span is floating, and still in no list.
  void make_floating(lab_type& local, span_type& hot);
  void retire(lab_type& local, span_type& hot);
  // Lets the owner's frees take the fast path until the next event may be due, unless the remote list has
  // blocks. Called by the owner, which holds the lock of its lists: without it no thread returns the span, so
  // that the counts are those of this tenure. Returns false if a remote free came in between, which may have
  // read the counts while they changed.
  bool clear_attention(lab_type& local, span_type& span);

  // --- owners and lists ---

  // Puts a span of `owner` into the list that its word names. Called by the holder of the lock of owner's
  // lists.
  void relist(lab_type& owner, span_type& span);
  // The span becomes hot: lists take its blocks. Called as set_owner is.
  void enlist(span_type& span, const lab_type& owner);
  // The span is nobody's, and no list takes its blocks. Called by the holder of the lock of the present
  // owner's lists, which has made the span free.
  void disown(span_type& span);
  // Drains a span of which less than half is live: takes the span from the page map until it is hot again.
  // So frees into it miss the fast path, and none of its blocks is listed: they go home, and the span becomes
  // empty while dense spans serve. Called by the holder of the lock of the owner's lists; the span is not
  // hot.
  void drain_if_sparse(span_type& span);
  // Precondition: this thread made the span free. Takes the span from its owner, which no other thread does;
  // a span whose holes are being purged is left to the thread that purges them.
  void return_span(span_type& span, std::uint32_t column);
  // Makes the owner of `local`, which frees a block of an orphan, the owner of the orphan.
  void adopt(lab_type& local, span_type& span);
  // Hands some reusable spans of an idle class over to the orphanage. Called by the owner, which looks for a
  // span.
  void abandon_idle(lab_type& local);
  // Hands spans over to the orphanage, abandon_step at most. False: none is left. Between two calls another
  // thread may move spans from one list of `local` to another, or empty them; only this thread could add one.
  bool abandon_some(lab_type& local);

  // --- in the child of a fork, before every other function; the lists of all other buffers are whole ---

  // A vanished thread may have stood between changing a list of blocks and changing their count.
  void expect_lost_counts() { counts_are_exact_ = false; }
  // Empties the lists of a buffer that another thread was changing. False: no thread was.
  static bool forget_torn_lists(lab_type& local);
  // Puts spans back into the forgotten lists, each where its word says. The locks, still held, show which
  // lists were forgotten.
  void refill_torn_lists();
  // Finishes what another thread had begun with a hot span of `local`. The locks are free.
  void repair_hot_spans(lab_type& local);

  // --- invariants of a span at rest: no thread is working on the span ---

  // Whether the span is in the list where its word says.
  bool is_listed(const span_type& span) const;
  // Whether the page map agrees with the record.
  bool is_in_page_map(const span_type& span) const;
  // Whether every due event has been applied.
  bool has_no_due_event(const span_type& span) const;
  // The same for the count of a hot span, after a change of its local list.
  bool is_counted(const span_type& hot) const { return !counts_are_exact_ || hot.counts_every_block(); }

private:
  // False: no event is due. Saves the call in the common case.
  HEAPLAB_FAST_PATH bool may_be_due(const span_type& span) const;
  bool apply_event(span_type& span, std::uint32_t column);
  static bool is_idle(lab_type& local, unsigned class_index);
  using list_type = concurrent::checked_deque<typename Traits::sync, span_type>;
  unsigned abandon_oldest(list_type& from, list_type& to, unsigned most);
  static auto* list_of(lab_type& owner, const span_type& span);
  void sync_list(span_type& span);

  span_limits limits_[classes::count] = {};
  bool counts_are_exact_ = true;
};

}  // namespace heaplab::scalloc

#include "allocators/scalloc/frontend/span_moves.h"
#include "allocators/scalloc/frontend/spans_after_fork.h"
