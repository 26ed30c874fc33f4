// What the span-pool retains, by column: memory of free spans, and what of it nobody needed of late; and
// tails of spans in use.
//
// The account of a column counts the spans in the column's stacks: the thread that puts a span adds, the
// thread that pops a span subtracts, whatever its own column. Each account lies on a cache line of its own
// (split_account.h): threads that use their own columns share no word.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "allocators/scalloc/policy/config.h"
#include "allocators/scalloc/policy/size_classes.h"
#include "allocators/scalloc/spans/purge_batch.h"
#include "allocators/scalloc/spans/span.h"
#include "base/cache_line.h"
#include "concurrent/split_account.h"

namespace heaplab::scalloc {

template <class Traits>
class retained_account {
  static constexpr const scalloc::config& config = Traits::config;
  static constexpr unsigned column_limit = config.pool_column_limit;
  static constexpr std::int64_t window = config.decay_milliseconds / 2;

public:
  // Returns what is granted to all columns, if this one had to be granted more.
  std::optional<std::int64_t> add(unsigned column, std::size_t bytes) {
    return account_.add(column, static_cast<std::int64_t>(bytes));
  }

  // The low mark may miss a concurrent change; end_window then tells a little more or less than was unneeded.
  void subtract(unsigned column, std::size_t bytes) {
    const std::int64_t left = account_.subtract(column, static_cast<std::int64_t>(bytes));
    auto& least = low_marks_[column].now;
    if (left < least.load(std::memory_order_relaxed)) least.store(left, std::memory_order_relaxed);
  }

  std::int64_t shrink_quotas(unsigned columns) { return account_.shrink_quotas(columns); }
  std::int64_t sum(unsigned columns) const { return account_.sum(columns); }
  bool is_valid() const { return account_.is_valid(); }

  // Calls purge(column, bytes) with the least that the column retained at any moment of the last decay period
  // (two windows, or a longer one): no get needed those bytes. `now` is in ms. Most calls only compare two
  // times.
  template <class Purge>
  void end_window(unsigned columns, std::int64_t now, Purge&& purge) {
    std::int64_t since = window_start_.load(std::memory_order_relaxed);
    if (now - since < window) return;
    if (!window_start_.compare_exchange_strong(since, now, std::memory_order_relaxed,
                                               std::memory_order_relaxed))
      return;
    const bool is_short = now - since < config.decay_milliseconds;
    for (unsigned column = 0; column < columns; ++column) {
      low_mark& mark = low_marks_[column];
      const std::int64_t least = mark.now.exchange(account_.of_part(column), std::memory_order_relaxed);
      const std::int64_t before = mark.before.exchange(least, std::memory_order_relaxed);
      const std::int64_t unneeded = is_short ? std::min(least, before) : least;
      if (unneeded > 0) purge(column, static_cast<std::size_t>(unneeded));
    }
  }

  // How many ms after `now` a window ends at the earliest.
  std::int64_t until_window_ends(std::int64_t now) const {
    return std::max<std::int64_t>(window_start_.load(std::memory_order_relaxed) + window - now, 0);
  }

private:
  // The least that a column retained since window_start_, and in the window before.
  struct alignas(cache_line_bytes) low_mark {
    typename Traits::template atomic<std::int64_t> now{0}, before{0};
  };

  // In ms. Every put and get reads it.
  alignas(cache_line_bytes) typename Traits::template atomic<std::int64_t> window_start_{0};
  concurrent::split_account<typename Traits::sync, column_limit> account_{config.retained_ahead_bytes};
  low_mark low_marks_[column_limit];
};

// Tails: memory of spans in use that lies beyond the real span of their class. A span that passes to a class
// of smaller real spans keeps what the class before it wrote there, within a bound: the next class is likely
// to need it again.
template <class Traits>
class span_tails {
  using span_type = span<Traits>;
  static constexpr const scalloc::config& config = Traits::config;

public:
  // Called for a span that a class begins to use, by a thread of `column`. Purges the tail where all tails
  // would exceed `most` bytes. The account counts exactly the tails there are, so that end_use subtracts what
  // was added: a tail does not change while the span is in use.
  void begin_use(span_type& span, const size_class& kind, unsigned column, unsigned columns,
                 std::int64_t most) {
    const std::size_t tail = tail_of(span, kind);
    if (tail == 0) return;
    if (account_.add(column, tail).value_or(0) <= most || account_.shrink_quotas(columns) <= most) return;
    purge_from(span, kind.real_span_bytes);
    account_.subtract(column, tail - tail_of(span, kind));
    account_.shrink_quotas(columns);
  }

  // `kind`: the class that used the span.
  void end_use(const span_type& span, const size_class& kind, unsigned column) {
    if (const std::size_t tail = tail_of(span, kind); tail > 0) account_.subtract(column, tail);
  }

  std::int64_t sum(unsigned columns) const { return account_.sum(columns); }
  bool is_valid() const { return account_.is_valid(); }

private:
  static std::size_t tail_of(const span_type& span, const size_class& kind) {
    return span.resident_bytes() - std::min(span.resident_bytes(), kind.real_span_bytes);
  }

  // A tail counts in the column of the thread that took the span, until the thread that puts the span back
  // subtracts in its own.
  concurrent::split_account<typename Traits::sync, config.pool_column_limit> account_{
      config.retained_ahead_bytes};
};

}  // namespace heaplab::scalloc
