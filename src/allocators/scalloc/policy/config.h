// Every knob of scalloc, as one struct; the variants are values of this struct (variants.h).
//
// Each knob says what follows from its value. "Measured" refers to docs/archive, the campaign of the
// departures from the paper; a section number refers to the paper. The value of a knob that names neither was
// chosen by the argument in its comment. Where the paper and the library differ a knob has no value here, and
// paper() and standard() each name theirs.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "base/narrow.h"
#include "base/os_pages.h"

namespace heaplab::scalloc {

inline constexpr std::size_t kib = std::size_t{1} << 10;
inline constexpr std::size_t mib = std::size_t{1} << 20;
inline constexpr std::size_t gib = std::size_t{1} << 30;
inline constexpr std::size_t tib = std::size_t{1} << 40;
inline constexpr std::size_t unlimited = SIZE_MAX;

// The range of arena_bytes as a setting of the environment (settings.h).
inline constexpr std::size_t least_arena_setting = 8 * mib;
inline constexpr std::size_t most_arena_setting = 1 * tib;

enum class huge_page_policy : std::uint8_t {
  never,   // the arena forbids huge pages, even where the system gives them to every process
  grown,   // the fine zone gets huge pages once 2 MiB are a small part of the zone
  always,  // the whole arena asks for huge pages: virtual spans are switched off (paper, section 7.7)
};

struct config {
  const char* name;

  // --- where blocks lie ---

  // Address space reserved once, at the first allocation. It bounds what spans may hold and costs nothing
  // else. At most 2^26 fine spans, as far as span numbers reach.
  std::size_t arena_bytes;
  // Address space of a span of the fine zone, which grows from the bottom of the arena. A span holds blocks
  // of one class at a time: larger spans mean fewer visits to the span-pool and more memory tied to a class.
  std::size_t fine_span_bytes;
  // Largest block of the fine zone. Larger blocks live in the coarse zone, which grows from the top.
  std::size_t fine_block_limit;
  // Address space of a span of the coarse zone. A span never touches the part that its blocks do not use.
  std::size_t coarse_span_bytes;
  // Largest block of a span. A larger block gets a mapping of its own.
  std::size_t span_block_limit = 1 * mib;

  // --- size classes ---

  // Up to this size there is a class for each multiple of 16 bytes. The paper's limit.
  std::size_t linear_class_limit = 256;
  // Above linear_class_limit, the number of classes per doubling of size. 1 wastes up to half of a block, 4 a
  // fifth, 8 a ninth; more classes spread a program's blocks over more spans.
  unsigned classes_per_doubling;
  // From this block size on spans have colors, where there is room behind their blocks (size_classes.h).
  std::size_t color_from_bytes;
  // Spans with so many bytes of blocks may take a further page for that.
  std::size_t color_page_from_bytes = 256 * kib;
  // Bytes of a real span that hold no block, where the paper has the span's header. Records lie apart, so
  // that nothing is written there.
  std::size_t span_header_bytes;
  // The part of a virtual span that its real span does not use has no access: a stray write there faults
  // (paper, section 3.2). Costs system calls for a new span, and where a span changes its real-span size.
  bool guards_tails;
  unsigned (*blocks_in_span)(const config&, std::size_t block_bytes);

  // --- when spans change hands ---

  // A floating span becomes reusable by its owner when more than this percentage of its blocks is free. A low
  // value reuses memory early, with few blocks at a time. 100: only empty spans are used again.
  unsigned reuse_percent;
  // The order in which an owner uses its reusable spans. On: the span that became reusable last comes first
  // (LIFO), its blocks are still cached. Off: the span that became reusable first (FIFO, paper), which may
  // have more free blocks by now.
  bool reuse_newest;
  // A hot span without local free blocks takes its remotely freed blocks back if they are more than this
  // percentage of its blocks, and floats otherwise. At most reuse_percent.
  unsigned refill_percent;
  // The thread that frees the last block of a span returns the span to the pool at once (section 3.4). Off:
  // the owner returns the span when the owner next looks for one.
  bool eager_return = true;
  // A thread that frees a block in a span of an ended thread becomes the owner of the span, and frees faster
  // from then on. Off: such a span waits for a thread that needs a span of the class. Owners that free and
  // never allocate would keep all spans they adopted, however empty.
  bool adopt_on_free;
  // A thread that has no reusable span of a class left looks at one other class. If the thread has neither
  // allocated from that class nor freed into it since the last look, it hands over so many reusable spans of
  // the class: threads then share the spans of classes that they need in turns. A block of a span that was
  // handed over is later freed by a compare-and-swap. 0: living threads keep their spans (paper). Measured
  // (docs/decisions/0067).
  unsigned idle_class_spans;
  // A thread that ends hands its spans over so many at a time, some microseconds, for which others may wait.
  unsigned abandon_step = 256;
  // Threads whose numbers are equal modulo the number of CPUs share one local allocation buffer (the paper's
  // CLAB), and every operation takes the buffer's lock (lab_registry.h).
  bool shared_labs = false;
  // So many threads for each column of the pool have spans of their own. Further threads have lists alone,
  // which they fill from spans that they share by columns, under a lock; and all these lists together are
  // bounded (free_lists.h). So spans in use are bounded by CPUs instead of threads. More keeps threads apart,
  // at the price of a span for each thread and class. Precondition: most_cached > 0. 0: all threads have
  // (paper). Measured (docs/decisions/0098).
  unsigned own_spans_per_column;
  // A cache of freed blocks for each CPU, in front of the buffer that the threads of the CPU share: they take
  // the buffer's lock only where the cache is empty or full (calling_core.h). So memory is bounded by CPUs
  // instead of threads. Larger blocks, whose size class is computed and not looked up, are not cached.
  // Precondition: most_cached > 0, not hardened.
  bool core_caches = false;
  // A thread has a list of freed blocks for each class, from which its next malloc takes one, whoever owns
  // the blocks (free_lists.h). More cached blocks spare more moves of spans, and keep more spans from
  // becoming empty, for each thread and class. The limit moves between fewest_cached and most_cached, down by
  // cache_step. 0: no lists (paper).
  std::uint32_t most_cached;
  std::uint32_t fewest_cached;
  std::uint32_t cache_step;
  // So many large blocks are cached for each class, as far as they fit (size_classes.h). A span holds so few
  // large blocks that without cached ones nearly every free moves a span.
  std::uint32_t large_cached;
  // Threads, or CPUs, take so many numbers in turns. Blocks smaller than a cache line that were allocated by
  // a thread of another number go home, at most lines_kept of a class and number at a time (list_numbers.h).
  // 1: whoever frees such a block hands the block out again, and shares its line. Measured
  // (docs/decisions/0104).
  unsigned line_owners;
  std::uint8_t lines_kept = 8;
  // Blocks never used before are linked into a free list in batches of about this many bytes. A page: larger
  // batches touch pages that the program may never need, smaller ones leave the fast path more often.
  std::uint32_t fresh_batch_bytes = 4 * kib;
  // Most blocks of a batch. Fewer leave malloc's fast path more often (docs/decisions/0078).
  std::uint32_t fresh_batch_blocks;

  // --- realloc ---

  // realloc to a larger size returns a block at least this percentage larger than the old block. 0: as large
  // as asked (paper).
  unsigned growth_percent;
  // realloc to a size that is dear to copy (size_classes.h) returns a block at least this percentage larger
  // than asked: pages that the program never writes cost no memory. 0: as large as asked (paper). Measured
  // (growing_buffers).
  unsigned growth_ahead_percent;

  // --- the span-pool and memory of the system ---

  // Stacks per real-span size; 0: one for each CPU up to the highest on which a thread first allocated. With
  // 1 a free span is found at the first look, and all threads contend for the same stack.
  unsigned pool_columns = 0;
  // Most stacks per real-span size. With more CPUs than stacks several CPUs share one, and take each other's
  // spans. Each stack takes a cache line.
  unsigned pool_column_limit = 256;
  // A thread whose own stack for a real-span size is empty looks at all stacks of all sizes, from the first
  // on (paper, listing 1). Off: at the stacks of its own size, from its own on, and then of the next
  // smaller sizes, so that threads meet less and spans change their size by little.
  bool searches_from_first;
  // A free span is purged if its real span is larger than this (MADVISE_THRESHOLD of the original).
  std::size_t purge_above;
  // Free spans that would be purged are retained instead while together they have no more than this plus
  // 1/retained_fine_divisor of the fine zone: a program that empties spans is likely to fill them again, and
  // each purged page then costs a page fault. 0: nothing is retained (paper).
  std::size_t retained_span_bytes;
  // Retained memory may grow by 1/N of the fine zone: 16 bounds the memory that the program did not ask for
  // at 6 %. Tails of spans that passed to a class of smaller real spans may take as much again: a lower bound
  // purges tails that the next class faults in again. Measured (random_age --emptied-every).
  std::size_t retained_fine_divisor = 16;
  // Free spans exceed the bound while the background purge thread is there, which purges what no allocation
  // needed for a decay period; memory that grows elsewhere purges the excess first (span_pool.h).
  bool retains_beyond_bound;
  // A column of the pool that exceeds its quota has the quota raised by a quarter, at most by so many bytes
  // (split_account.h). With fewer, threads that empty spans raise quotas more often, which is where they
  // meet; with more, columns purge that much before the bound is reached.
  std::int64_t retained_ahead_bytes = 128 * kib;
  // Purge all of them by one call (process_madvise, Linux 6.18) instead of one call for each run of
  // neighbours. A seccomp filter that kills at unknown calls then kills the process.
  bool purge_at_once = false;
  // Retained memory that no allocation needed for this long is purged. Shorter gives memory back earlier, and
  // a program with pauses of that length pays page faults after each.
  std::int64_t decay_milliseconds = 1'000;
  // From so many bytes on, in free spans or in freed large blocks, the heap starts a background purge thread,
  // which purges them even if no thread of the program calls malloc or free any more (idle_purge.h); less may
  // stay for good. The page faults of so much memory took milliseconds, a thread takes some tens of
  // microseconds. A smaller bound would give small programs a thread, which others see
  // (docs/decisions/0042). The thread may start at four fifths of the bound (split_account.h).
  std::size_t idle_purge_bytes;
  // Whether there is such a thread, unless the environment tells otherwise (settings.h).
  bool purges_when_idle = true;
  // Whole free pages inside spans in use go back to the system (hole_sweep.h), at malloc_trim and, where
  // there is an idle purge, from spans that nobody changed for a decay period.
  bool purges_holes;
  // A thread asks for a look at holes after its frees made spans of so many bytes reusable or free, and the
  // background purge thread looks where all spans have so much address space. Less asks for the thread in
  // small programs, where holes are no more than this.
  std::size_t hole_sweep_bytes = 16 * mib;
  huge_page_policy huge_pages;
  // With huge_page_policy::grown, the fine zone grows in parts of so many bytes, or of 1/huge_part_divisor of
  // the zone, each of which gets huge pages where the spans of as much before it are dense (arena.h). Smaller
  // parts follow the program faster, with a system call each.
  std::size_t huge_part_bytes = 2 * mib;
  std::size_t huge_part_divisor = 4;
  // Parts from so many bytes of the zone on. The 2 MiB that a huge page may touch too early are less than a
  // sixteenth of 32 MiB. A program of fewer may take 2 MiB too early where it grows fast: where a part
  // follows the one before within so many milliseconds. Measured (docs/decisions/0095).
  std::size_t huge_zone_bytes = 32 * mib;
  std::size_t fast_huge_zone_bytes = 4 * mib;
  std::int64_t fast_part_milliseconds = 100;

  // --- large blocks: those above span_block_limit ---

  // Bytes of freed large blocks that may be retained for reuse instead of being unmapped. 0: none (paper).
  std::size_t retained_large_bytes;
  // Places in the first table of the registry of large blocks, a power of two. A table is at most half full;
  // then one of twice the size takes over.
  std::size_t first_registry_entries = os_pages::largest_page_bytes / 16;

  // --- defence against faulty programs and those who exploit them (docs/hardening.md) ---

  // Every free is checked against a map of the live blocks, links of free blocks are encoded, fresh blocks
  // shuffled, freed blocks zeroed, large blocks followed by a guard page, sizes told to free and delete
  // checked, the arena's place chosen at random. Precondition: not shared_labs.
  bool hardened = false;
  // Bytes behind each block of a span that show whether the program wrote past the block's end: 8, or 0.
  std::size_t canary_bytes = 0;
  // The arena begins at a random multiple of arena_alignment() within so much address space, unless the
  // address space is limited.
  std::size_t arena_scatter_bytes = 64 * gib;

  // Where the arena may have huge pages, they are huge pages of the system.
  constexpr std::size_t arena_alignment() const {
    return huge_pages == huge_page_policy::never ? coarse_span_bytes
                                                 : std::max(coarse_span_bytes, os_pages::huge_page_bytes);
  }

  // Whether larger blocks have spans of another size than smaller ones, in a zone of their own.
  constexpr bool has_coarse_zone() const { return fine_block_limit < span_block_limit; }

  // The largest request that a block of a span can serve.
  constexpr std::size_t span_request_limit() const { return span_block_limit - canary_bytes; }
};

// A part of the variants for which `Condition` holds. The others have an empty object of a type of its own in
// its place, which needs no memory.
template <class Part>
struct absent {};
template <bool Condition, class Part>
using part_if = std::conditional_t<Condition, Part, absent<Part>>;

// The config of a process, which the environment may have changed: of the knobs that settings.h names alone.
struct tuning : config {
  bool statistics_at_exit = false;

  constexpr explicit tuning(const config& from) : config(from) {
    purges_when_idle &= idle_purge_bytes != unlimited;
  }
};

// Distances in the arena are counted in steps of 16 bytes, at multiples of which all blocks begin.
inline constexpr unsigned step_shift = 4;

}  // namespace heaplab::scalloc
