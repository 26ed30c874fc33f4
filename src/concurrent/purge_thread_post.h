#pragma once

#include <cstdint>
#include <optional>

#include "concurrent/sync.h"

namespace heaplab::concurrent {

// Elects the background purge thread: any thread may request a purge, and one purge thread at a time serves
// all requests until nothing is left.
//
// A request is never lost: the thread that asks either gets the post, and starts a purge thread, or the purge
// thread that has the post looks for work once more before it resigns. Purge threads are numbered. A purge
// thread that has served for long offers its post and goes on; the next request gives the post to a new purge
// thread, and the former sees that and leaves. So the rights and limits of a purge thread are those that the
// program's threads had a short time ago.
//
// A thread adds its work by a seq_cst operation or under a lock before it asks, and a purge thread looks for
// work in the same way after a resignation that failed: so it finds the work of every request that did not
// get the post.
template <class Sync>
class purge_thread_post {
public:
  // The number of the purge thread that the caller must start, or dismiss. Nothing: a purge thread is there
  // and has noted the request.
  std::optional<std::uint32_t> ask() {
    std::uint32_t seen = word_.load(std::memory_order_seq_cst);
    for (;;) {
      const bool is_vacant = state_of(seen) == vacant || state_of(seen) == offered;
      if (state_of(seen) == asked) return std::nullopt;
      const std::uint32_t number = number_of(seen) + (is_vacant ? 1 : 0);
      if (!replace(seen, number, is_vacant ? serving : asked)) continue;
      return is_vacant ? std::optional(number_of(number * states)) : std::nullopt;
    }
  }

  // Whether the next ask() would return a number. A hint.
  bool looks_vacant() const {
    const unsigned state = state_of(word_.load(std::memory_order_relaxed));
    return state == vacant || state == offered;
  }

  // The number that the next ask() would return if the post is vacant or offered. A hint.
  std::uint32_t next_number() const {
    return number_of((number_of(word_.load(std::memory_order_relaxed)) + 1) * states);
  }

  // Whether a purge thread serves, also one that has offered its post. A hint.
  bool is_held() const { return state_of(word_.load(std::memory_order_relaxed)) != vacant; }

  // The purge thread of this number could not be started.
  void dismiss(std::uint32_t number) { move_from(number, vacant); }

  // --- the functions below are called by the purge thread of this number ---

  // Whether another purge thread has the post.
  bool is_relieved(std::uint32_t number) const {
    return number_of(word_.load(std::memory_order_relaxed)) != number;
  }

  // Precondition: the purge thread looks for work afterwards.
  void offer(std::uint32_t number) { move_from(number, offered); }

  // Called when no work was found. False: there was a request meanwhile, and the purge thread must go on.
  bool try_resign(std::uint32_t number) {
    std::uint32_t seen = word_.load(std::memory_order_relaxed);
    while (number_of(seen) == number) {
      const bool ends = state_of(seen) != asked;
      if (replace(seen, number, ends ? vacant : serving)) return ends;
    }
    return true;
  }

  // Called in the child of a fork, which has no purge thread.
  void after_fork_in_child() { word_.store(0, std::memory_order_relaxed); }

private:
  // vacant: no purge thread. serving: a purge thread works. asked: the same, with a request not yet looked
  // at. offered: a purge thread works until another has the post.
  static constexpr unsigned vacant = 0, serving = 1, asked = 2, offered = 3, states = 4;

  static unsigned state_of(std::uint32_t word) { return word % states; }
  static std::uint32_t number_of(std::uint32_t word) { return word / states; }

  void move_from(std::uint32_t number, unsigned state) {
    std::uint32_t seen = word_.load(std::memory_order_relaxed);
    while (number_of(seen) == number && !replace(seen, number, state)) continue;
  }

  // On failure `seen` becomes the present word. seq_cst: a request comes before or after a resignation in the
  // one order in which the work was added and looked for.
  bool replace(std::uint32_t& seen, std::uint32_t number, unsigned state) {
    return word_.compare_exchange_strong(seen, number * states + state, std::memory_order_seq_cst,
                                         std::memory_order_seq_cst);
  }

  typename Sync::template atomic<std::uint32_t> word_{0};
};

}  // namespace heaplab::concurrent
