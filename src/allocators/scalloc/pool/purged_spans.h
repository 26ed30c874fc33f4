#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "allocators/scalloc/arena/arena.h"
#include "allocators/scalloc/arena/dropped_records.h"
#include "allocators/scalloc/spans/span.h"
#include "concurrent/futex_lock.h"
#include "concurrent/index_stack.h"

namespace heaplab::scalloc {

// The link of a span in the stacks of the span-pool.
template <class Traits>
auto pool_links(arena<Traits>& spans) {
  return [&spans](std::uint32_t number) -> auto& { return spans.span_number(number).pool_next; };
}

// The free spans without memory of a pool that retains memory: a stack for each column, of fine and of coarse
// spans.
template <class Traits>
class purged_spans {
public:
  void put(arena<Traits>& spans, std::uint32_t number, bool fine, unsigned column) {
    stacks_[fine][column].push(number, pool_links(spans));
    added_.fetch_add(1, std::memory_order_relaxed);
  }

  // Looks into the column `home` first.
  std::optional<std::uint32_t> get(arena<Traits>& spans, bool fine, unsigned home, unsigned columns) {
    for (unsigned turn = 0; turn < columns; ++turn)
      if (const auto number = stacks_[fine][(home + turn) % columns].try_pop(pool_links(spans)))
        return number;
    return std::nullopt;
  }

  // Visits the numbers of the spans. Called while no thread changes a stack.
  template <class Visit>
  void for_each(arena<Traits>& spans, Visit&& visit) const {
    for (const auto& column : stacks_)
      for (const stack& numbers : column) numbers.for_each(pool_links(spans), visit);
  }

  // The records of spans that have been purged since the last sweep.
  std::size_t record_bytes() const { return added_.load(std::memory_order_relaxed) * sizeof(span<Traits>); }

  // Gives back the memory of records. A record takes 256 bytes for each fine span ever carved, 16 MiB for a
  // GiB, and a page of records can go when all its spans are purged: free, and without memory.
  //
  // The sweep first takes all purged spans, and then drops the records of whole pages of them. Meanwhile a
  // thread that finds no other free span carves a new one. A child of a fork in that time may have lost the
  // spans that were taken: address space and records, no other memory.
  void sweep_records(arena<Traits>& spans, unsigned columns) {
    if (!dropped_records<Traits>::are_possible || !sweep_lock_.try_lock()) return;
    added_.store(0, std::memory_order_relaxed);
    std::uint32_t begin = UINT32_MAX, end = 0;
    for (stack& from : std::span(stacks_[true], columns))
      while (const auto number = from.try_pop(pool_links(spans))) {
        pool_links(spans)(*number).store(taken, std::memory_order_relaxed);
        begin = std::min(begin, *number);
        end = std::max(end, *number + 1);
      }
    const std::uint32_t page = dropped_records<Traits>::spans_in_page();
    for (std::uint32_t first = begin / page * page, next; first < end; first = next) {
      std::uint32_t epoch = 0;
      for (next = first; next < end && can_go(spans, next, page, epoch);) next += page;
      if (next > first && spans.drop_records(first, next - first, epoch)) continue;
      next = std::max(next, first + page);
      for (std::uint32_t number = first; number < next; ++number)
        if (is_taken(spans, number)) stacks_[true][number / page % columns].push(number, pool_links(spans));
    }
    sweep_lock_.unlock();
  }

  void after_fork_in_child() { sweep_lock_.forget_holder(); }

private:
  using stack = concurrent::index_stack<typename Traits::sync>;
  // The link of a span that a sweep has taken: of no span in a stack.
  static constexpr std::uint32_t taken = UINT32_MAX;
  // Dropped records are made again with an epoch above all that the sweep has seen. A page with an epoch in
  // the upper half of the range stays: its records would hand that epoch on to spans of few tenures, whose
  // epochs would soon wrap around to values that late frees may still expect.
  static constexpr std::uint32_t epoch_limit = span_word::epoch_limit / 2;

  static bool is_taken(arena<Traits>& spans, std::uint32_t number) {
    return pool_links(spans)(number).load(std::memory_order_relaxed) == taken;
  }

  // Whether the page of records that begins with this span can go. Raises `epoch` above those of its spans.
  static bool can_go(arena<Traits>& spans, std::uint32_t first, std::uint32_t page, std::uint32_t& epoch) {
    std::uint32_t highest = 0;
    for (std::uint32_t number = first; number < first + page; ++number) {
      if (!is_taken(spans, number)) return false;
      const span_word word = spans.span_number(number).load_word(std::memory_order_relaxed);
      highest = std::max(highest, word.epoch());
    }
    if (highest >= epoch_limit) return false;
    epoch = std::max(epoch, highest + 1);
    return true;
  }

  concurrent::futex_lock<typename Traits::sync> sweep_lock_;
  stack stacks_[2][Traits::config.pool_column_limit];  // [0] coarse, [1] fine
  // Since the last sweep. relaxed: a hint.
  typename Traits::template atomic<std::size_t> added_{0};
};

}  // namespace heaplab::scalloc
