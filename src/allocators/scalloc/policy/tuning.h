#pragma once

#include <cstddef>

#include "allocators/scalloc/policy/config.h"

namespace heaplab::scalloc {

// The part of the config that may be set when a process starts (settings.h).
struct tuning {
  std::size_t arena_bytes;
  unsigned reuse_percent;
  std::size_t purge_above;
  std::size_t retained_span_bytes;
  std::size_t retained_large_bytes;
  bool retains_beyond_bound;
  bool purge_at_once;
  bool purge_when_idle;
  huge_page_policy huge_pages;
  bool statistics_at_exit = false;

  constexpr explicit tuning(const config& from)
      : arena_bytes(from.arena_bytes),
        reuse_percent(from.reuse_percent),
        purge_above(from.purge_above),
        retained_span_bytes(from.retained_span_bytes),
        retained_large_bytes(from.retained_large_bytes),
        retains_beyond_bound(from.retains_beyond_bound),
        purge_at_once(from.purge_at_once),
        purge_when_idle(from.purges_when_idle && from.idle_purge_bytes != unlimited),
        huge_pages(from.huge_pages) {}
};

}  // namespace heaplab::scalloc
