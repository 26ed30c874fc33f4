#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "allocators/scalloc/policy/config.h"
#include "allocators/scalloc/spans/span.h"
#include "base/bits.h"
#include "base/narrow.h"
#include "base/platform.h"

namespace heaplab::scalloc {

// Most spans that are purged together; the array of their ranges lies on the stack.
inline constexpr std::size_t purge_batch_spans = 128;

// Purges a span's memory beyond its first `kept` bytes, in whole pages. The system may refuse; the span then
// has all its memory as before. Precondition: no other thread can reach the span.
template <class Traits>
void purge_from(span<Traits>& span, std::uint32_t kept) {
  const std::size_t begin = align_up(kept, os_pages::page_bytes());
  const std::size_t end = align_up(span.resident_bytes(), os_pages::page_bytes());
  if (begin < end && Traits::platform::purge(span.base + begin, end - begin))
    span.set_resident_bytes(narrow<std::uint32_t>(begin));
}

// Collects free spans and purges them with few system calls. Purging makes the kernel interrupt every CPU on
// which the process runs, to drop translations; the interrupts cost more than the pages. Adjacent spans
// therefore become one range, and all ranges go into one call where that is wanted.
template <class Traits>
class purge_batch {
  using span_type = span<Traits>;
  using classes = typename Traits::classes;

public:
  bool is_full() const { return count_ == purge_batch_spans; }

  // Precondition: the batch is not full, and no other thread can reach the span.
  void add(span_type& span) { spans_[count_++] = &span; }

  // Purges all spans of the batch, by one system call if `at_once`, then calls `done` with each of them, in
  // address order. The batch is empty afterwards. Where the system refuses, as for locked memory, the spans
  // still have their memory.
  template <class Done>
  void flush(bool at_once, Done&& done) {
    if (count_ == 0) return;
    const std::span<span_type*> all(spans_, count_);
    std::ranges::sort(all, {}, [](const span_type* span) { return span->base; });
    iovec ranges[purge_batch_spans];
    std::size_t used = 0;
    for (const span_type* const span : all) {
      const std::size_t bytes = bytes_of(*span);
      if (used > 0 && end_of(ranges[used - 1]) == span->base)
        ranges[used - 1].iov_len += bytes;
      else
        ranges[used++] = {span->base, bytes};
    }
    const bool purged =
        (at_once ? Traits::platform::purge_at_once : Traits::platform::purge_each)({ranges, used});
    count_ = 0;
    for (span_type* const span : all) {
      if (purged) span->set_resident_bytes(0);
      done(*span);
    }
  }

private:
  // The whole of a fine span: a huge page backs the part, too, that blocks never touched.
  static std::size_t bytes_of(const span_type& span) {
    return span.kind().fine ? Traits::config.fine_span_bytes
                            : align_up(span.resident_bytes(), os_pages::page_bytes());
  }

  static char* end_of(const iovec& range) { return static_cast<char*>(range.iov_base) + range.iov_len; }

  span_type* spans_[purge_batch_spans];
  std::size_t count_ = 0;
};

}  // namespace heaplab::scalloc
