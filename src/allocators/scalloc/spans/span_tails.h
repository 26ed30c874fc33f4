// Tails: memory of spans in use that lies beyond the real span of their class. A span that passes to a class
// of smaller real spans keeps what the class before it wrote there, within a bound: the next class is likely
// to need it again.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "allocators/scalloc/policy/size_classes.h"
#include "allocators/scalloc/spans/purge_batch.h"
#include "allocators/scalloc/spans/span.h"
#include "concurrent/split_account.h"

namespace heaplab::scalloc {

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
