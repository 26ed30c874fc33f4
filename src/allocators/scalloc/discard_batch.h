#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "allocators/scalloc/span.h"
#include "base/os_pages.h"

namespace heaplab::scalloc {

// Free spans whose memory goes back to the system together. Every such call interrupts the other CPUs the
// process runs on, which costs more than the pages do: neighbours go in one range, and all ranges in one
// call.
template <class Traits>
class discard_batch {
  using span_type = span<Traits>;

public:
  bool is_full() const { return count_ == limit; }

  // The caller alone has the span. Not full.
  void add(span_type& it) { spans_[count_++] = &it; }

  // Calls back with every span, in no order, when its memory is gone; the batch is empty.
  template <class Done>
  void flush(Done&& done) {
    if (count_ == 0) return;
    const std::span<span_type*> all(spans_, count_);
    std::ranges::sort(all, {}, [](const span_type* it) { return it->base; });
    iovec ranges[limit];
    std::size_t used = 0;
    for (const span_type* const it : all) {
      if (used > 0 && end_of(ranges[used - 1]) == it->base)
        ranges[used - 1].iov_len += it->resident_bytes;
      else
        ranges[used++] = {it->base, it->resident_bytes};
    }
    os_pages::discard_all({ranges, used});
    count_ = 0;
    for (span_type* const it : all) {
      it->resident_bytes = 0;
      done(*it);
    }
  }

private:
  static constexpr std::size_t limit = 128;

  static char* end_of(const iovec& range) { return static_cast<char*>(range.iov_base) + range.iov_len; }

  span_type* spans_[limit];
  std::size_t count_ = 0;
};

}  // namespace heaplab::scalloc
