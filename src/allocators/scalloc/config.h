// Every knob of scalloc, and the named variants as values of one struct. A variant is a library of its own
// (CMakeLists.txt), made from the same source.
#pragma once

#include <cstddef>
#include <cstdint>

namespace heaplab::scalloc {

inline constexpr std::size_t kib = std::size_t{1} << 10;
inline constexpr std::size_t mib = std::size_t{1} << 20;
inline constexpr std::size_t tib = std::size_t{1} << 40;
inline constexpr std::size_t unlimited = SIZE_MAX;

enum class huge_page_policy : std::uint8_t {
  never,   // the arena forbids them, also where the system would give them to everybody
  grown,   // fine spans get them once the fine zone is so large that 2 MiB more are a small part of it
  always,  // the whole arena asks for them: virtual spans are switched off (paper, section 7.7)
};

struct config {
  const char* name;

  // --- where blocks lie ---

  // Address space reserved, once, at the first allocation. Bounds what spans may hold, costs nothing else.
  std::size_t arena_bytes = 4 * tib;
  // Address space of a span of the fine zone, which grows from the bottom of the arena. A span never holds
  // two classes at once: larger spans mean fewer trips to the span-pool and more memory tied to a class.
  std::size_t fine_span_bytes = 64 * kib;
  // Largest block of the fine zone; larger ones live in the coarse zone, which grows from the top.
  std::size_t fine_block_limit = 8 * kib;
  // Address space of a span of the coarse zone. What a span does not use of it is never touched.
  std::size_t coarse_span_bytes = 2 * mib;
  // Largest block of a span; larger ones get a mapping of their own.
  std::size_t span_block_limit = 1 * mib;

  // --- size classes ---

  // Above 256 bytes, steps per doubling of size. 1 wastes up to half of a block, 4 a fifth, 8 a ninth; more
  // steps spread a program's blocks over more spans.
  unsigned classes_per_doubling = 4;
  // Blocks in a span of a class.
  unsigned (*blocks_in_span)(const config&, std::size_t block_bytes);

  // --- when spans change hands ---

  // A span is reusable by its owner when more than this part of its blocks is free. Low: memory is refilled
  // early, with few blocks a time. 100: spans are used again only when empty.
  unsigned reuse_percent = 80;
  // Of reusable spans the one that became so last is used first: its blocks are still in the cache. Off: the
  // one that became so first (paper), which may have more free blocks by now.
  bool reuse_newest = false;
  // A hot span that has run dry takes its remotely freed blocks back when they are more than this part of
  // its blocks; otherwise it is left to float. At most reuse_percent.
  unsigned refill_percent = 80;
  // Whoever frees the last block of a span returns it at once (section 3.4). Off: the owner does, when it
  // next looks for a span.
  bool eager_return = true;
  // Threads of the same number modulo CPUs share one local allocation buffer (the paper's CLAB); every
  // operation then takes its lock.
  bool shared_labs = false;

  // realloc to a larger block makes it at least this much larger than it was. 0: as large as asked (paper).
  unsigned growth_percent = 0;
  // ... and from 32 KiB on at least this much larger than asked: such a block is copied at a high price, and
  // pages of it that nobody writes are no memory. 0: as large as asked (paper).
  unsigned growth_ahead_percent = 0;

  // --- the span-pool and memory of the system ---

  // Stacks per span size; 0: one per CPU. 1 finds free spans soonest, and all threads meet there.
  unsigned pool_columns = 0;
  // Memory of a free span goes back to the system if its real span is larger than this (MADVISE_THRESHOLD).
  std::size_t discard_above = 32 * kib;
  // ... unless that of all such spans together stays within this and a sixteenth of the fine zone: a program
  // that empties spans is likely to fill them again, and a page given back costs a page fault. 0: none kept
  // (paper).
  std::size_t retained_span_bytes = 0;
  // Freed blocks above span_block_limit that are kept for reuse instead of being unmapped. 0: none (paper).
  std::size_t retained_large_bytes = 0;
  huge_page_policy huge_pages = huge_page_policy::never;
};

// The paper's arrangement: one zone of sparse 2 MiB virtual spans, 28 classes. Real spans of the fine classes
// are 32 KiB, those of the others hold 64 to 1 blocks. (Table in facts of the original; its headers of 128
// bytes are not in the span here, so a span holds a few more blocks.)
constexpr unsigned paper_blocks(const config&, std::size_t block_bytes) {
  if (block_bytes <= 256) return static_cast<unsigned>(32 * kib / block_bytes);
  if (block_bytes <= 2 * kib) return 64;
  if (block_bytes <= 8 * kib) return 32;
  if (block_bytes <= 64 * kib) return 16;
  return static_cast<unsigned>(mib / block_bytes);
}

// Fine spans are filled; coarse ones hold up to 1 MiB in at most 32 blocks.
constexpr unsigned dense_blocks(const config& self, std::size_t block_bytes) {
  if (block_bytes <= self.fine_block_limit) return static_cast<unsigned>(self.fine_span_bytes / block_bytes);
  const std::size_t most = mib / block_bytes;
  return static_cast<unsigned>(most < 32 ? most : 32);
}

constexpr config standard() {
  config result{.name = "scalloc", .blocks_in_span = dense_blocks};
  result.fine_span_bytes = 16 * kib;
  result.discard_above = 8 * kib;
  result.reuse_percent = 15;
  result.reuse_newest = true;
  result.refill_percent = 10;
  result.growth_percent = 25;
  result.growth_ahead_percent = 50;
  result.retained_span_bytes = 32 * mib;
  result.retained_large_bytes = 64 * mib;
  result.huge_pages = huge_page_policy::grown;
  return result;
}

constexpr config paper() {
  config result{.name = "scalloc-paper", .blocks_in_span = paper_blocks};
  result.arena_bytes = 32 * tib;
  result.fine_span_bytes = 2 * mib;
  result.fine_block_limit = result.span_block_limit;
  result.classes_per_doubling = 1;
  return result;
}

// The ablations of section 7.7, each one step from the paper's arrangement.
constexpr config no_madvise() {
  config result = paper();
  result.name = "scalloc-no-madvise";
  result.discard_above = unlimited;
  return result;
}

constexpr config single_stack() {
  config result = paper();
  result.name = "scalloc-single-stack";
  result.pool_columns = 1;
  return result;
}

constexpr config reclaim_in_malloc() {
  config result = paper();
  result.name = "scalloc-reclaim-in-malloc";
  result.eager_return = false;
  return result;
}

constexpr config no_reuse() {
  config result = paper();
  result.name = "scalloc-no-reuse";
  result.reuse_percent = 100;
  return result;
}

constexpr config clab() {
  config result = paper();
  result.name = "scalloc-clab";
  result.shared_labs = true;
  return result;
}

constexpr config huge_pages() {
  config result = paper();
  result.name = "scalloc-huge-pages";
  result.huge_pages = huge_page_policy::always;
  return result;
}

}  // namespace heaplab::scalloc
