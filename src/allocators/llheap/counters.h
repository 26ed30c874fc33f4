#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/atomic.h"

namespace heaplab::llheap {

enum class routine : unsigned {
  malloc,
  aalloc,
  calloc,
  memalign,
  amemalign,
  cmemalign,
  resize,
  realloc,
  aligned_resize,
  aligned_realloc,
  free,
  remote_push,
  remote_pull,
  count
};

inline constexpr std::size_t routine_count = static_cast<std::size_t>(routine::count);
inline constexpr std::array<const char*, routine_count> routine_names = {
    "malloc",  "aalloc",         "calloc",          "memalign", "amemalign",     "cmemalign",   "resize",
    "realloc", "aligned_resize", "aligned_realloc", "free",     "remote pushes", "remote pulls"};

// One routine's row. Bytes count what was asked for and what the blocks really hold; a routine that
// replaces a block counts the new one here and the old one as released.
struct routine_totals {
  std::uint64_t calls = 0;
  std::uint64_t zero_byte_calls = 0;
  std::uint64_t requested_bytes = 0;
  std::uint64_t usable_bytes = 0;
  std::uint64_t released_bytes = 0;
};

// Counters with one writer; readers in other threads may see a call half counted.
class routine_counters {
public:
  void add(routine which, const routine_totals& more) {
    row& to = rows_[static_cast<std::size_t>(which)];
    raise(to.calls, more.calls);
    raise(to.zero_byte_calls, more.zero_byte_calls);
    raise(to.requested_bytes, more.requested_bytes);
    raise(to.usable_bytes, more.usable_bytes);
    raise(to.released_bytes, more.released_bytes);
  }

  void add_to(std::array<routine_totals, routine_count>& totals) const {
    for (std::size_t i = 0; i < routine_count; ++i) {
      totals[i].calls += rows_[i].calls.load(std::memory_order_relaxed);
      totals[i].zero_byte_calls += rows_[i].zero_byte_calls.load(std::memory_order_relaxed);
      totals[i].requested_bytes += rows_[i].requested_bytes.load(std::memory_order_relaxed);
      totals[i].usable_bytes += rows_[i].usable_bytes.load(std::memory_order_relaxed);
      totals[i].released_bytes += rows_[i].released_bytes.load(std::memory_order_relaxed);
    }
  }

private:
  using counter = atomic<std::uint64_t>;
  struct row {
    counter calls{0}, zero_byte_calls{0}, requested_bytes{0}, usable_bytes{0}, released_bytes{0};
  };

  // One writer: a plain add that readers may look at. Relaxed: a count publishes nothing.
  static void raise(counter& value, std::uint64_t more) {
    value.store(value.load(std::memory_order_relaxed) + more, std::memory_order_relaxed);
  }

  std::array<row, routine_count> rows_{};
};

}  // namespace heaplab::llheap
