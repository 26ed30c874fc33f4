// The named variants of scalloc: values of config. A variant is a library of its own (CMakeLists.txt), made
// from the same source.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "allocators/scalloc/policy/config.h"
#include "base/narrow.h"
#include "base/os_pages.h"

namespace heaplab::scalloc {

// The paper's arrangement: one zone of sparse 2 MiB virtual spans, 28 classes. Real spans of the fine classes
// are 32 KiB with the header, those of the others hold 64 to 1 blocks.
constexpr unsigned paper_blocks(const config& self, std::size_t block_bytes) {
  if (block_bytes <= 256) return narrow<unsigned>((32 * kib - self.span_header_bytes) / block_bytes);
  if (block_bytes <= 2 * kib) return 64;
  if (block_bytes <= 8 * kib) return 32;
  if (block_bytes <= 64 * kib) return 16;
  return narrow<unsigned>(mib / block_bytes);
}

// Fine spans are filled; coarse ones hold up to 1 MiB in at most 32 blocks.
constexpr unsigned dense_blocks(const config& self, std::size_t block_bytes) {
  if (block_bytes <= self.fine_block_limit) return narrow<unsigned>(self.fine_span_bytes / block_bytes);
  const std::size_t most = mib / block_bytes;
  return narrow<unsigned>(most < 32 ? most : 32);
}

constexpr config standard() {
  return {
      .name = "scalloc",
      .arena_bytes = 1 * tib,
      // A span that is smaller than a page could not be purged.
      .fine_span_bytes = std::max(16 * kib, os_pages::largest_page_bytes),
      .fine_block_limit = 8 * kib,
      .coarse_span_bytes = 1 * mib,
      .classes_per_doubling = 4,
      .color_from_bytes = 1 * kib,
      .span_header_bytes = 0,
      .guards_tails = false,
      .blocks_in_span = dense_blocks,
      .reuse_percent = 15,
      .reuse_newest = true,
      .refill_percent = 10,
      .adopt_on_free = false,
      .idle_class_spans = 4,
      .own_spans_per_column = 32,
      .most_cached = 128,
      .fewest_cached = 24,
      .cache_step = 16,
      .large_cached = 16,
      .line_owners = 16,
      .fresh_batch_blocks = 64,
      .growth_percent = 25,
      .growth_ahead_percent = 50,
      .searches_from_first = false,
      .purge_above = 8 * kib,
      .retained_span_bytes = 32 * mib,
      .retains_beyond_bound = true,
      .idle_purge_bytes = 16 * mib,
      .purges_holes = true,
      .huge_pages = huge_page_policy::grown,
      .retained_large_bytes = 64 * mib,
  };
}

// What sleeping threads and thousands of threads want: memory is bounded by CPUs.
constexpr config cores() {
  config result = standard();
  result.name = "scalloc-cores";
  result.core_caches = true;
  result.own_spans_per_column = 0;  // the threads of a CPU share a buffer anyway
  return result;
}

constexpr config paper() {
  return {
      .name = "scalloc-paper",
      .arena_bytes = 32 * tib,
      .fine_span_bytes = 2 * mib,
      .fine_block_limit = 1 * mib,
      .coarse_span_bytes = 2 * mib,
      .classes_per_doubling = 1,
      .color_from_bytes = unlimited,
      .span_header_bytes = 128,
      .guards_tails = true,
      .blocks_in_span = paper_blocks,
      .reuse_percent = 80,
      .reuse_newest = false,
      .refill_percent = 80,
      .adopt_on_free = true,
      .idle_class_spans = 0,
      .own_spans_per_column = 0,
      .most_cached = 0,
      .fewest_cached = 0,
      .cache_step = 0,
      .large_cached = 0,
      .line_owners = 1,
      .fresh_batch_blocks = UINT32_MAX,
      .growth_percent = 0,
      .growth_ahead_percent = 0,
      .searches_from_first = true,
      .purge_above = 32 * kib,
      .retained_span_bytes = 0,
      .retains_beyond_bound = false,
      .idle_purge_bytes = unlimited,
      .purges_holes = false,
      .huge_pages = huge_page_policy::never,
      .retained_large_bytes = 0,
  };
}

// What a defender wants. Freed large blocks lose access or go back to the system: whoever still uses such a
// block is stopped, and whoever gets the pages next finds zeros.
constexpr config hardened() {
  config result = standard();
  result.name = "scalloc-hardened";
  result.hardened = true;
  // The links and contents of free blocks are checked, and a purge would change them.
  result.purges_holes = false;
  // A background purge thread would keep a user or rights that the program gives up.
  result.purges_when_idle = false;
  // The live map counts blocks from the beginning of their span.
  result.color_from_bytes = unlimited;
  // The links of a block are encoded with the secrets of its own span.
  result.most_cached = result.fewest_cached = result.large_cached = result.own_spans_per_column = 0;
  result.line_owners = 1;
  // Room for a guard behind the blocks.
  result.coarse_span_bytes = 2 * mib;
  result.canary_bytes = 8;
  // Larger blocks have mappings of their own, so that whoever uses one after its free is stopped.
  result.span_block_limit = 256 * kib;
  // More bytes are shuffled together. More blocks would make a refill, which also looks for writes into
  // blocks in quarantine, rarer and longer.
  result.fresh_batch_bytes = narrow<std::uint32_t>(16 * kib);
  result.fresh_batch_blocks = 64;
  return result;
}

// The ablations of section 7.7: each is the paper's arrangement with one knob changed.
template <class T>
constexpr config ablation(const char* name, T config::* knob, std::type_identity_t<T> value) {
  config result = paper();
  result.name = name;
  result.*knob = value;
  return result;
}

constexpr config no_madvise() {
  return ablation("scalloc-no-madvise", &config::purge_above, unlimited);
}
constexpr config single_stack() {
  return ablation("scalloc-single-stack", &config::pool_columns, 1);
}
constexpr config reclaim_in_malloc() {
  return ablation("scalloc-reclaim-in-malloc", &config::eager_return, false);
}
constexpr config no_reuse() {
  return ablation("scalloc-no-reuse", &config::reuse_percent, 100);
}
constexpr config clab() {
  return ablation("scalloc-clab", &config::shared_labs, true);
}
// The kernel makes no huge page of a span that has a guard.
constexpr config huge_pages() {
  config result = ablation("scalloc-huge-pages", &config::huge_pages, huge_page_policy::always);
  result.guards_tails = false;
  return result;
}

// The largest virtual spans that the authors tried (section 3.2). Guards of so many pages would take page
// tables for them.
constexpr config wide_spans() {
  config result = ablation("scalloc-wide-spans", &config::fine_span_bytes, 128 * mib);
  result.coarse_span_bytes = result.fine_span_bytes;
  result.guards_tails = false;
  return result;
}

}  // namespace heaplab::scalloc
