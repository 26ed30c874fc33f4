// The stack of concurrent/index_stack.h with hazard pointers in the place of tags, to be compared with it: no
// library has it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/cache_line.h"
#include "concurrent/sync.h"

namespace heaplab::concurrent {

// A lock-free LIFO stack of indices. A pop announces the element whose link it reads; an element that some
// thread announces is not pushed, so that the head never takes an old value again under a pop (Michael:
// Hazard pointers, 2004). Each thread keeps the elements that it pushes back until there are `batch`, then
// looks at all announcements once.
template <class Sync>
class hazard_stack {
public:
  using link = typename Sync::template atomic<std::uint32_t>;

  hazard_stack(unsigned threads, std::size_t batch) : owners_(threads), batch_(batch) {
    // With room to spare, so that no two threads share a line.
    for (owner& each : owners_) {
      each.waiting.reserve(batch + cache_line_bytes);
      each.seen.reserve(threads + cache_line_bytes);
    }
  }

  template <class NextOf>
  void push(unsigned thread, std::uint32_t index, NextOf&& next_of) {
    std::vector<std::uint32_t>& waiting = owners_[thread].waiting;
    waiting.push_back(index);
    if (waiting.size() >= batch_) push_waiting(thread, next_of);
  }

  // Pushes those elements that the thread has kept and nobody announces.
  template <class NextOf>
  void push_waiting(unsigned thread, NextOf&& next_of) {
    std::vector<std::uint64_t>& announced = owners_[thread].seen;
    announced.clear();
    // seq_cst pairs with the announcement in try_pop: who saw the element at the head has announced it by
    // now.
    for (owner& other : owners_) announced.push_back(other.announced.load(std::memory_order_seq_cst));
    std::erase_if(owners_[thread].waiting, [&](std::uint32_t index) {
      const bool is_free = std::ranges::find(announced, index + 1ULL) == announced.end();
      if (is_free) push_now(index, next_of);
      return is_free;
    });
  }

  template <class NextOf>
  std::optional<std::uint32_t> try_pop(unsigned thread, NextOf&& next_of) {
    typename Sync::template atomic<std::uint64_t>& own = owners_[thread].announced;
    for (;;) {
      std::uint32_t top = head_.load(std::memory_order_seq_cst);
      if (top == 0) break;
      own.store(top, std::memory_order_seq_cst);
      if (head_.load(std::memory_order_seq_cst) != top) continue;
      const std::uint32_t below = next_of(top - 1).load(std::memory_order_relaxed);
      if (!head_.compare_exchange_strong(top, below, std::memory_order_seq_cst, std::memory_order_relaxed))
        continue;
      own.store(0, std::memory_order_release);
      return top - 1;
    }
    own.store(0, std::memory_order_release);
    return std::nullopt;
  }

private:
  struct alignas(cache_line_bytes) owner {
    typename Sync::template atomic<std::uint64_t> announced{0};  // index + 1; 0: none
    alignas(cache_line_bytes) std::vector<std::uint32_t> waiting;
    std::vector<std::uint64_t> seen;  // announcements, while they are looked at
  };

  template <class NextOf>
  void push_now(std::uint32_t index, NextOf&& next_of) {
    std::uint32_t old = head_.load(std::memory_order_relaxed);
    do {
      next_of(index).store(old, std::memory_order_relaxed);
    } while (
        !head_.compare_exchange_strong(old, index + 1, std::memory_order_seq_cst, std::memory_order_relaxed));
  }

  std::vector<owner> owners_;
  const std::size_t batch_;
  alignas(cache_line_bytes) link head_{0};  // index + 1; 0: none
};

}  // namespace heaplab::concurrent
