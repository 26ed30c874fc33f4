#pragma once

#include <cstdint>
#include <optional>

#include "concurrent/sync.h"

namespace heaplab::concurrent {

// Who does a work that any thread may ask for, and that one helper at a time does until nothing is left.
//
// A request is never lost: whoever asks either gets the post, and then starts a helper, or the helper that
// has the post looks for work once more before it resigns. Helpers are numbered. A helper that has served for
// long offers its post and goes on; the next request gives the post to another helper, and the former, who
// sees that, leaves. So a helper is never older than the program is silent, and has what rights and limits
// its threads have now.
//
// What a thread adds to the work it adds by a seq_cst operation or under a lock before it asks, and a helper
// looks for work in the same way after it resigned in vain: so the helper finds the work of every request
// that did not get the post.
template <class Sync>
class helper_post {
public:
  // The number of the helper that the caller must start, or dismiss. Nothing: a helper knows of the request.
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

  // Whether no helper would know of a request at once. A hint.
  bool looks_vacant() const {
    const unsigned state = state_of(word_.load(std::memory_order_relaxed));
    return state == vacant || state == offered;
  }

  // Of the helper that the next request would give the vacant or offered post. A hint.
  std::uint32_t next_number() const {
    return number_of((number_of(word_.load(std::memory_order_relaxed)) + 1) * states);
  }

  // Whether a helper works, be it until another has the post. A hint.
  bool is_held() const { return state_of(word_.load(std::memory_order_relaxed)) != vacant; }

  // The helper of this number could not be started.
  void dismiss(std::uint32_t number) { move_from(number, vacant); }

  // --- the functions below are called by the helper of this number ---

  // Whether another has the post.
  bool is_relieved(std::uint32_t number) const {
    return number_of(word_.load(std::memory_order_relaxed)) != number;
  }

  // Precondition: the helper looks for work afterwards.
  void offer(std::uint32_t number) { move_from(number, offered); }

  // Called when no work was found. False: there was a request meanwhile, and the helper must go on.
  bool try_resign(std::uint32_t number) {
    std::uint32_t seen = word_.load(std::memory_order_relaxed);
    while (number_of(seen) == number) {
      const bool ends = state_of(seen) != asked;
      if (replace(seen, number, ends ? vacant : serving)) return ends;
    }
    return true;
  }

  // In the child of a fork, which has no helper.
  void after_fork_in_child() { word_.store(0, std::memory_order_relaxed); }

private:
  // vacant: nobody works. serving: a helper works. asked: it works, and there was a request. offered: it
  // works until another has the post.
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
