#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "allocators/scalloc/arena/arena.h"
#include "allocators/scalloc/policy/config.h"
#include "base/bits.h"
#include "base/narrow.h"
#include "base/os_pages.h"
#include "concurrent/index_stack.h"

namespace heaplab::scalloc {

// The link of a span in the stacks of the span-pool.
template <class Traits>
auto pool_links(arena<Traits>& spans) {
  return [&spans](std::uint32_t number) -> auto& { return spans.span_number(number).pool_next; };
}

// Gives back the memory of records. A record takes 256 bytes for each fine span ever carved, 16 MiB for a
// GiB, and a page of records can go when all its spans are purged: free, and without memory.
//
// A sweep first holds all purged spans that it is given, and then drops the records of whole pages of them.
// Meanwhile no other thread can take these spans; a thread that finds no other free span carves a new one. A
// child of a fork in that time has lost the spans that are held: address space and records, no other memory.
template <class Traits>
class record_sweep {
  using platform = typename Traits::platform;
  using dropped = dropped_records<Traits>;

public:
  explicit record_sweep(arena<Traits>& spans)
      : spans_(spans), count_(narrow<std::uint32_t>(spans.fine_bytes() / spans.span_bytes(true))) {
    if (count_ > 0)
      held_ = static_cast<std::uint64_t*>(platform::allocate(map_bytes(), os_pages::page_bytes()));
  }
  ~record_sweep() {
    if (held_ != nullptr) platform::unmap(held_, map_bytes());
  }
  record_sweep(const record_sweep&) = delete;
  record_sweep& operator=(const record_sweep&) = delete;

  // Precondition: the span is purged, and no other thread can reach it. False: the span is not held, because
  // there is no memory, or because the span was carved after the sweep had begun.
  bool try_hold(std::uint32_t number) {
    if (held_ == nullptr || number >= count_) return false;
    held_[number / word_bits] |= std::uint64_t{1} << number % word_bits;
    return true;
  }

  // Calls put_back(number) for each span whose record stays.
  template <class PutBack>
  void drop(PutBack&& put_back) {
    if (held_ == nullptr) return;
    const std::uint32_t page = dropped::spans_in_page();
    std::uint32_t run = 0;  // [run, first) are whole pages
    for (std::uint32_t first = 0; first < count_; first += page) {
      if (is_whole(first)) continue;
      drop_run(run, first, put_back);
      for_each_held(first, first + page, put_back);
      run = first + page;
    }
    drop_run(run, count_, put_back);
  }

private:
  static constexpr std::uint32_t word_bits = 64;
  // Dropped records are made again with an epoch above all that the sweep has seen. A page with an epoch in
  // the upper half of the range stays: its records would hand that epoch on to spans of few tenures, whose
  // epochs would soon wrap around to values that late frees may still expect.
  static constexpr std::uint32_t epoch_limit = span_word::epoch_limit / 2;

  // With a bit for each span of the last page, too.
  std::size_t map_bytes() const {
    const std::size_t bits = align_up(align_up(count_, dropped::spans_in_page()), word_bits);
    return align_up(bits / 8, os_pages::page_bytes());
  }

  bool holds(std::uint32_t number) const {
    return (held_[number / word_bits] >> number % word_bits & 1) != 0;
  }

  template <class PutBack>
  void drop_run(std::uint32_t begin, std::uint32_t end, PutBack&& put_back) {
    if (begin < end && !spans_.drop_records(begin, end - begin, epoch_)) for_each_held(begin, end, put_back);
  }

  // Whether the page of records that begins with this span can go.
  bool is_whole(std::uint32_t first) {
    for (std::uint32_t number = first; number < first + dropped::spans_in_page(); ++number) {
      if (!holds(number)) return false;
      const std::uint32_t epoch = spans_.span_number(number).load_word(std::memory_order_relaxed).epoch();
      if (epoch >= epoch_limit) return false;
      epoch_ = std::max(epoch_, epoch + 1);
    }
    return true;
  }

  template <class Visit>
  void for_each_held(std::uint32_t begin, std::uint32_t end, Visit&& visit) const {
    for (std::uint32_t number = begin; number < end; ++number)
      if (holds(number)) visit(number);
  }

  arena<Traits>& spans_;
  std::uint32_t count_;  // of spans
  std::uint64_t* held_ = nullptr;
  std::uint32_t epoch_ = 0;  // above the epochs of the spans looked at
};

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
