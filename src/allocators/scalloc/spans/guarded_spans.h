#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "allocators/scalloc/hardened/guard_pages.h"
#include "allocators/scalloc/spans/span.h"
#include "base/bits.h"
#include "base/os_pages.h"

namespace heaplab::scalloc {

// Of so many fine spans carved in a row the first is a guard, without access. Fewer guard more, at the price
// of address space and page tables; no memory.
inline constexpr std::uint32_t guarded_span_period = 16;
// Guards in each zone that may have a mapping of the kernel's own each, on kernels before Linux 6.13.
inline constexpr std::size_t most_guard_mappings = 1'024;

// Whether the fine span of that number, which was just carved, becomes a guard for good: of
// guarded_span_period spans the first does, unless the system refuses. Then its addresses serve as blocks of
// no bytes (empty_blocks.h).
template <class Traits>
bool becomes_guard(span<Traits>& span, std::size_t number) {
  if (number % guarded_span_period != 0) return false;
  const bool may_split = number / guarded_span_period < most_guard_mappings;
  if (!install_guard<typename Traits::platform>(span.base, Traits::config.fine_span_bytes, may_split))
    return false;
  span.secrets.set_guard();
  return true;
}

// A coarse span has a guard behind the last page that blocks of any class may touch.
template <class Traits>
void guard_end(char* base, std::size_t number) {
  char* const guard = base + align_up(Traits::classes::most_coarse_bytes(), os_pages::page_bytes());
  const bool may_split = number < most_guard_mappings;
  install_guard<typename Traits::platform>(guard, os_pages::page_bytes(), may_split);
}

// Gives access to the real span of `kind` and takes it from what lies behind, for a span that was carved or
// is free. Memory of the class before keeps access: where free spans are not purged, the next class may need
// it. False: the system refuses access.
template <class Traits>
bool fit_access(const span<Traits>& span, const size_class& kind, std::size_t number) {
  using platform = typename Traits::platform;
  const bool carved = span.load_word(std::memory_order_relaxed).state() == span_state::expected;
  const auto& before = Traits::classes::table[span.class_index.load(std::memory_order_relaxed)];
  const std::size_t had = carved ? 0 : align_up(before.real_span_bytes, os_pages::page_bytes());
  const std::size_t needs = align_up(kind.real_span_bytes, os_pages::page_bytes());
  if (needs > had && !remove_guard<platform>(span.base + had, needs - had)) return false;
  const std::size_t begin =
      align_up(std::max<std::size_t>(needs, span.resident_bytes()), os_pages::page_bytes());
  const std::size_t end = kind.fine ? Traits::config.fine_span_bytes : Traits::config.coarse_span_bytes;
  if ((carved || needs < had) && begin < end)
    install_guard<platform>(span.base + begin, end - begin, number < most_guard_mappings);
  return true;
}

}  // namespace heaplab::scalloc
