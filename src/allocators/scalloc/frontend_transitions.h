// The life of a span at the frontend: the transitions of span_state.h, the lists that follow them,
// invariants, and the repair after a fork. Included by frontend.h.
#pragma once

#include <optional>

#include "allocators/scalloc/frontend.h"

namespace heaplab::scalloc {

template <class Traits>
void frontend<Traits>::retire(lab_type& local, span_type& hot) {
  const unsigned class_index = hot.class_index.load(std::memory_order_relaxed);
  HEAPLAB_ASSERT(hot.is_hot_in(local, class_index));
  // A span that has run dry has all its blocks out. It is counted anew: a child of fork may have lost a block
  // that was taken and not yet counted, and would find the span reusable, and dry, for ever.
  const auto blocks = static_cast<std::int32_t>(classes::table[class_index].blocks);
  const bool is_dry = hot.local_list == nullptr && hot.fresh == classes::table[class_index].blocks;
  hot.set_used(is_dry ? blocks : hot.used(), event_floor(span_state::floating, class_index));
  span_word seen = hot.load_word(std::memory_order_relaxed);
  do {
    hot.set_owner(&local, seen.remote_count() > 0 ? span_type::attention : 0);
    // seq_cst: publishes the counts and the local list to who settles or reuses the span.
  } while (!hot.try_move(seen, seen.retire(), std::memory_order_seq_cst));
  relist(hot);
  settle(hot, local.column);
}

// Performs the event that is due, if any. Right for any span at any time, by any thread.
template <class Traits>
void frontend<Traits>::settle(span_type& it, std::uint32_t column) {
  // seq_cst: after this thread's own change of a count, before the look at the other one.
  span_word seen = it.load_word(std::memory_order_seq_cst);
  for (;;) {
    const unsigned class_index = it.class_index.load(std::memory_order_relaxed);
    // The counts after the word: if the word has not changed by the time it is moved, they are of its tenure.
    const std::int32_t live = it.used() - static_cast<std::int32_t>(seen.remote_count());
    const std::optional<span_event> event = due_event(seen.state(), live, limits_[class_index]);
    if (!event) return;
    if (live < 0 && it.load_word(std::memory_order_seq_cst) == seen)
      fatal("a block was freed twice in the span of", it.base);
    if (*event == span_event::all_free) {
      if (it.try_move(seen, seen.all_free(), std::memory_order_acq_rel)) return return_span(it, column);
    } else {
      if (it.try_move(seen, seen.mostly_free(), std::memory_order_acq_rel)) return relist(it);
    }
  }
}

// The list of `owner` in which the span belongs by its word, or null.
template <class Traits>
auto* frontend<Traits>::list_of(lab_type& owner, const span_type& it) {
  const unsigned class_index = it.class_index.load(std::memory_order_relaxed);
  const span_state state = it.load_word(std::memory_order_acquire).state();
  return state == span_state::floating   ? &owner.floating[class_index]
         : state == span_state::reusable ? &owner.reusable[class_index]
                                         : nullptr;
}

// Puts the span into the list of its owner where its word says. Right for any span at any time, by any
// thread.
template <class Traits>
void frontend<Traits>::relist(span_type& it) {
  while (lab_type* const owner = it.owner(std::memory_order_acquire)) {
    const concurrent::lock_holder hold(owner->lists_lock);
    if (it.owner(std::memory_order_relaxed) != owner) continue;
    auto* const list = list_of(*owner, it);
    if (it.hook.in != nullptr && it.hook.in != list) it.hook.in->remove(it);
    if (list != nullptr) list->put_newest(it);
    return;
  }
}

// The span is free, by this thread's hand: it alone takes the span from its owner.
template <class Traits>
void frontend<Traits>::return_span(span_type& it, std::uint32_t column) {
  while (lab_type* const owner = it.owner(std::memory_order_acquire)) {
    const concurrent::lock_holder hold(owner->lists_lock);
    if (it.owner(std::memory_order_relaxed) != owner) continue;
    if (it.hook.in != nullptr) it.hook.in->remove(it);
    it.set_owner(nullptr);
  }
  pool_.put(spans_, it, column);
  if (pool_.retains()) pool_.decay(spans_, Traits::platform::milliseconds());
}

// Lets the owner's frees take the fast path until the next event may be due, if no remote block is there.
// Under the lock, without which nobody returns the span: its counts stay this thread's. False: a remote free
// came in between, and may have found the counts in disorder.
template <class Traits>
bool frontend<Traits>::calm(lab_type& local, span_type& it) {
  // A look without the lock: the owner alone makes the remote list empty.
  if (it.load_word(std::memory_order_seq_cst).remote_count() > 0) return true;
  const concurrent::lock_holder hold(local.lists_lock);
  if (it.owner(std::memory_order_relaxed) != &local) return true;
  const span_word seen = it.load_word(std::memory_order_seq_cst);
  if (seen.remote_count() > 0) return true;
  const std::int32_t floor = event_floor(seen.state(), it.class_index.load(std::memory_order_relaxed));
  if (floor < it.countdown_floor.load(std::memory_order_relaxed)) it.lower_floor(floor);
  it.set_owner(&local, 0, std::memory_order_seq_cst);
  if (it.load_word(std::memory_order_seq_cst) == seen) return true;
  // What it asked for may have been overwritten.
  it.ask_for_attention();
  return false;
}

// The number of used blocks at or below which an event may be due.
template <class Traits>
std::int32_t frontend<Traits>::event_floor(span_state state, unsigned class_index) const {
  return state == span_state::floating ? std::max(limits_[class_index].reuse_live, 0) : 0;
}

// A span of the orphanage gets an owner that frees blocks of it.
template <class Traits>
void frontend<Traits>::adopt(lab_type& local, span_type& it) {
  {
    const concurrent::lock_holder hold(orphanage_.lists_lock);
    if (it.owner(std::memory_order_relaxed) != &orphanage_) return;
    const span_state state = it.load_word(std::memory_order_acquire).state();
    if (state != span_state::floating && state != span_state::reusable) return;
    if (it.hook.in != nullptr) it.hook.in->remove(it);
    it.set_owner(&local, span_type::attention);
  }
  relist(it);
}

template <class Traits>
void frontend<Traits>::abandon(lab_type& local) {
  for (span_type*& hot : local.hot) {
    if (hot == &no_span<Traits>) continue;
    span_type& it = *hot;
    hot = &no_span<Traits>;
    retire(local, it);
  }
  const concurrent::lock_holder hold_own(local.lists_lock);
  const concurrent::lock_holder hold(orphanage_.lists_lock);
  const auto hand_over = [this](auto& from, auto& to) {
    while (span_type* const it = from.take_oldest()) {
      it->set_owner(&orphanage_);
      to.put_newest(*it);
    }
  };
  for (unsigned index = 0; index < classes::count; ++index) {
    hand_over(local.floating[index], orphanage_.floating[index]);
    hand_over(local.reusable[index], orphanage_.reusable[index]);
  }
  HEAPLAB_ASSERT_EXPENSIVE(local.is_valid() && orphanage_.is_valid());
}

// --- invariants ---

template <class Traits>
bool frontend<Traits>::is_listed(const span_type& it) const {
  lab_type* const owner = it.owner(std::memory_order_seq_cst);
  const unsigned class_index = it.class_index.load(std::memory_order_relaxed);
  switch (it.load_word(std::memory_order_seq_cst).state()) {
    case span_state::floating:
      return owner->floating[class_index].contains(it);
    case span_state::reusable:
      return owner->reusable[class_index].contains(it);
    default:
      return it.hook.in == nullptr;
  }
}

template <class Traits>
bool frontend<Traits>::is_settled(const span_type& it) const {
  const span_word word = it.load_word(std::memory_order_seq_cst);
  const std::int32_t live = it.used() - static_cast<std::int32_t>(word.remote_count());
  const unsigned class_index = it.class_index.load(std::memory_order_relaxed);
  return due_event(word.state(), live, limits_[class_index]) == std::nullopt;
}

// --- after a fork ---

template <class Traits>
bool frontend<Traits>::forget_torn_lists(lab_type& local) {
  if (!local.lists_lock.was_held()) return false;
  for (auto& list : local.floating) list.forget_all();
  for (auto& list : local.reusable) list.forget_all();
  return true;
}

// Who takes a span away from its owner removes it from the owner's list first, under the same lock: a span is
// in no list but its present owner's, also at the instruction where a thread was stopped.
template <class Traits>
void frontend<Traits>::refill_torn_lists() {
  spans_.for_each_span([](span_type& it) {
    lab_type* const owner = it.owner(std::memory_order_relaxed);
    if (owner == nullptr || !owner->lists_lock.was_held()) return;
    it.hook = {};
    if (auto* const list = list_of(*owner, it)) list->put_newest(it);
  });
}

template <class Traits>
bool frontend<Traits>::trim(std::size_t pad) {
  spans_.for_each_span([this](span_type& it) { settle(it, 0); });
  return pool_.purge_all(spans_, pad);
}

}  // namespace heaplab::scalloc
