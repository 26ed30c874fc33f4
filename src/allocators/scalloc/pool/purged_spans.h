#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "allocators/scalloc/arena/arena.h"
#include "allocators/scalloc/arena/record_sweep.h"
#include "allocators/scalloc/policy/config.h"
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

  // Gives back the memory of records (record_sweep.h).
  void sweep_records(arena<Traits>& spans, unsigned columns) {
    if constexpr (dropped_records<Traits>::are_possible) {
      added_.store(0, std::memory_order_relaxed);
      record_sweep<Traits> sweep(spans);
      for (stack& from : std::span(stacks_[true], columns))
        while (const auto number = from.try_pop(pool_links(spans))) {
          if (sweep.try_hold(*number)) continue;
          from.push(*number, pool_links(spans));
          break;
        }
      const std::uint32_t page = dropped_records<Traits>::spans_in_page();
      sweep.drop([&](std::uint32_t number) {
        stacks_[true][number / page % columns].push(number, pool_links(spans));
      });
    }
  }

private:
  using stack = concurrent::index_stack<typename Traits::sync>;

  stack stacks_[2][Traits::config.pool_column_limit];  // [0] coarse, [1] fine
  // Since the last sweep. relaxed: a hint.
  typename Traits::template atomic<std::size_t> added_{0};
};

}  // namespace heaplab::scalloc
