// The arena: one reservation of address space for all spans, and the way from an address to its span, or to
// the list that takes its block (page_map.h).
//
// The zones grow towards each other, so that either zone may use what the other does not. The space between
// them belongs to neither. The border lies somewhere in that space, and moves when a zone comes near.
//
// The reservation has no access rights at first. Zones get access rights in growing steps as spans are carved
// (shrinking_reservation.h), so that the system charges (overcommit mode 2) or locks (mlockall) only what is
// in use. A span, once carved, is never given up; the memory of its record may be (drop_records).
//
// A limit of address space (RLIMIT_AS) counts the whole reservation. Where the process gets such a limit
// later on, shrink() gives most of the uncarved space back: a gap between the zones, and what was for it in
// the records and the map.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <utility>

#include "allocators/scalloc/arena/arena_zone.h"
#include "allocators/scalloc/arena/dropped_records.h"
#include "allocators/scalloc/arena/page_map.h"
#include "allocators/scalloc/arena/shrinking_reservation.h"
#include "allocators/scalloc/hardened/guard_pages.h"
#include "allocators/scalloc/hardened/random_source.h"
#include "allocators/scalloc/spans/span.h"
#include "base/bits.h"
#include "base/cache_line.h"
#include "base/compiler.h"
#include "base/narrow.h"
#include "base/os_pages.h"
#include "concurrent/futex_lock.h"
#include "concurrent/relaxed_compare.h"
#include "concurrent/tagged_index.h"

namespace heaplab::scalloc {

// Of so many fine spans carved in a row the first is a guard of a hardened heap, without access. Fewer guard
// more, at the price of address space and page tables; no memory.
inline constexpr std::uint32_t guarded_span_period = 16;

template <class Traits>
class arena {
  using span_type = span<Traits>;
  using classes = typename Traits::classes;
  using platform = typename Traits::platform;
  static constexpr const scalloc::config& config = Traits::config;
  static constexpr unsigned fine_shift = log2_floor(config.fine_span_bytes);
  static constexpr unsigned coarse_shift = log2_floor(config.coarse_span_bytes);
  static_assert(is_power_of_two(config.fine_span_bytes) && is_power_of_two(config.coarse_span_bytes));
  static_assert(config.coarse_span_bytes % config.fine_span_bytes == 0);
  // The numbers of the spans of both zones fit into a tagged_index.
  static_assert(config.arena_bytes >> fine_shift <= concurrent::tagged_index::index_limit / 2);

  // The smallest arena, in coarse spans: where the system refuses it, no block of a span is to be had.
  static constexpr std::size_t least_spans = 4;
  // Spans are dense where at least this percentage of their address space is touched, by so many samples. A
  // lower share makes sparse spans resident as a whole; a higher one pays page faults in programs whose spans
  // a class leaves a quarter unused.
  static constexpr std::size_t dense_percent = 70, density_samples = 64;
  // Guards in each zone that may have a mapping of the kernel's own each, on kernels before Linux 6.13.
  static constexpr std::size_t most_guard_mappings = 1'024;

public:
  static constexpr bool has_coarse_zone = config.has_coarse_zone();
  // The arena takes at most 1/N of a limited address space (RLIMIT_AS). The rest serves large blocks, stacks
  // and libraries, which the process cannot do without.
  static constexpr std::size_t address_space_divisor = 2;

  // Reserves up to `wanted` bytes: at most a share of a limited address space, and half as much
  // again and again while the system refuses. False: the system refuses even the least arena. Called once,
  // before every other function.
  bool open(std::size_t wanted, huge_page_policy huge_pages) {
    wanted = std::min(wanted, platform::address_space_limit() / address_space_divisor);
    wanted = align_down(wanted, config.coarse_span_bytes);
    for (; wanted >= least_spans * config.coarse_span_bytes;
         wanted = align_down(wanted / 2, config.coarse_span_bytes))
      if (reserve(wanted)) break;
    if (records_ == nullptr) return false;
    huge_pages_ = huge_pages;
    if (huge_pages == huge_page_policy::always) platform::advise_huge(base_, bytes_, true);
    fine_.begin();
    if (has_coarse_zone) coarse_.begin();
    return true;
  }

  // Gives the reservation back, and every block in it.
  void close() {
    unmap(map_.all());
    unmap(std::array{fine_.cut_records(0), coarse_.cut_records(0)});
    unmap(reserved_.all());
    records_ = nullptr;
  }

  // Gives address space back until the arena has about `wanted` bytes, or as many as are in use. False: the
  // arena had no more than that. The border moves below the gap before another mapping can come to lie there,
  // so that no address in the gap is taken for a span's. What the system refuses to take back, as at the
  // limit of mappings, lies idle.
  bool shrink(std::size_t wanted) {
    shrinking_reservation::parts blocks, entries, records;
    {
      const concurrent::lock_holder hold(lock_);
      if (records_ == nullptr) return false;
      const std::size_t share = align_down(has_coarse_zone ? wanted / 2 : wanted, config.coarse_span_bytes);
      const std::size_t before = reserved_.bytes();
      blocks = reserved_.keep(fine_.in_use(share), has_coarse_zone ? coarse_.in_use(share) : 0);
      if (reserved_.bytes() == before) return false;
      const std::size_t fine = reserved_.first(), coarse = reserved_.last();
      border_.store(fine >> step_shift, std::memory_order_relaxed);
      reserved_bytes_.store(fine + coarse, std::memory_order_relaxed);
      entries = map_.keep(fine, coarse);
      records = {fine_.cut_records(fine >> fine_shift), coarse_.cut_records(coarse >> coarse_shift)};
    }
    unmap(blocks);
    unmap(entries);
    unmap(records);
    return true;
  }

  // The distance of an address from the beginning of the arena, in steps of 16 bytes. Rotating instead of
  // shifting moves the lowest four bits to the top: so an address that is no multiple of 16 is, like null and
  // any address below the arena, farther than every bound.
  HEAPLAB_FAST_PATH std::size_t step_of(const void* address) const {
    return std::rotr(static_cast<std::size_t>(static_cast<const char*>(address) - base_), step_shift);
  }

  // relaxed: the border never moves to the other side of a carved span. So every value of the border since
  // the span was carved gives the same answer for a block of the span.
  HEAPLAB_FAST_PATH bool in_fine_zone(std::size_t step) const { return concurrent::exceeds(border_, step); }

  // Whether a fine span has been carved there: no address of uncarved space passes for a span's.
  HEAPLAB_FAST_PATH bool in_carved_fine_zone(std::size_t step) const {
    return step < fine_.carved_bytes() >> step_shift;
  }

  HEAPLAB_FAST_PATH span_type& fine_span_at(std::size_t step) const {
    return records_[step >> (fine_shift - step_shift)];
  }
  span_type& fine_span_of(const void* block) const {
    return records_[static_cast<std::size_t>(static_cast<const char*>(block) - base_) >> fine_shift];
  }

  const page_map<Traits>& map() const { return map_; }
  page_map<Traits>& map() { return map_; }
  // The list that takes the block; 0: none.
  auto list_of(const void* block) const {
    const std::size_t step = step_of(block);
    return map_.covers(step) ? map_.at(step) : typename page_map<Traits>::list_number{0};
  }
  auto list_of(const span_type& span) const { return list_of(span.block_at(0, span.kind())); }
  // For the holder of the lock of the owner's lists, or whoever has taken the free span.
  void set_list(const span_type& span, typename page_map<Traits>::list_number list) {
    const size_class& kind = span.kind();
    map_.set(step_of(span.block_at(0, kind)), kind, list);
  }

  // The span at any address. Null: no span has been carved there.
  span_type* find(const void* address) const {
    const auto offset = static_cast<std::size_t>(static_cast<const char*>(address) - base_);
    if (offset < fine_.carved_bytes()) return &records_[offset >> fine_shift];
    const std::size_t from_end = bytes_ - 1 - offset;
    return from_end < coarse_.carved_bytes() ? &coarse_.records()[from_end >> coarse_shift] : nullptr;
  }

  // Both zones begin and end at multiples of these.
  static constexpr std::size_t span_bytes(bool fine) {
    return fine ? config.fine_span_bytes : config.coarse_span_bytes;
  }

  // Gives access to the real span of `kind` and takes it from what lies behind, for a span that was carved or
  // is free. Memory of the class before keeps access: where free spans are not purged, the next class may
  // need it. False: the system refuses access.
  bool fit_access(const span_type& span, const size_class& kind) const {
    const bool carved = span.load_word(std::memory_order_relaxed).state() == span_state::expected;
    const std::size_t page = os_pages::page_bytes();
    const std::size_t had = carved ? 0 : align_up(span.kind().real_span_bytes, page);
    const std::size_t needs = align_up(kind.real_span_bytes, page);
    if (needs > had && !remove_guard<platform>(span.base + had, needs - had)) return false;
    const std::size_t begin = align_up(std::max<std::size_t>(needs, span.resident_bytes()), page);
    const std::size_t end = span_bytes(kind.fine);
    if ((carved || needs < had) && begin < end)
      install_guard<platform>(span.base + begin, end - begin, number_of(span) < most_guard_mappings);
    return true;
  }

  span_type& span_number(std::uint32_t number) const { return records_[number]; }
  std::uint32_t number_of(const span_type& span) const { return narrow<std::uint32_t>(&span - records_); }

  // A span in state expected. `column`: of the thread's buffer. Null: no address space or no memory.
  span_type* carve(bool fine, unsigned column) {
    const concurrent::lock_holder hold(lock_);
    span_type* const span = fine ? carve_fine(column) : carve_coarse();
    if constexpr (config.hardened) {
      if (span != nullptr && !fine) guard_end(*span);
      if (span != nullptr && fine && becomes_guard_now(*span)) return carve_fine(column);
    }
    return span;
  }

  // For a hardened heap. Spans are numbered as they are carved, and the first of every guarded_span_period
  // spans may be a guard. Returns how many such periods have begun: at least one, unless the system refuses
  // memory.
  std::size_t guard_places() {
    // acquire pairs with becomes_guard_now: the record says whether the span is a guard.
    if (const std::size_t known = guard_places_.load(std::memory_order_acquire)) return known;
    const concurrent::lock_holder hold(lock_);
    if (fine_.carved_bytes() == 0)
      if (span_type* const span = carve_fine(0)) becomes_guard_now(*span);
    return guard_places_.load(std::memory_order_relaxed);
  }

  // Purges the records of `count` fine spans; the records fill whole pages. carve() hands these spans out
  // again before new ones. Returns false, and changes nothing, if there are too many gaps between such spans
  // or the system refuses. For one thread at a time.
  // Precondition: the spans are free and purged, no other thread can take them, and `epoch` is greater than
  // the epoch of each. A thread that still reads one of the records finds zeros.
  bool drop_records(std::uint32_t first, std::uint32_t count, std::uint32_t epoch) {
    if (!has_room_for_dropped() || !platform::purge(&records_[first], count * sizeof(span_type)))
      return false;
    const concurrent::lock_holder hold(lock_);
    dropped_.add(first, count, epoch);
    return true;
  }

  // Called by the background purge thread when free memory has gone back. The kernel makes no more huge pages
  // in the zone as it is: it would fill up every 2 MiB of which one page is left.
  void keep_small_pages() {
    const std::size_t used = fine_.carved_bytes();
    if (huge_pages_ != huge_page_policy::grown || used <= std::max(small_bytes_, config.fast_huge_zone_bytes))
      return;
    platform::advise_huge(base_ + small_bytes_, used - small_bytes_, false);
    small_bytes_ = used;
  }

  // Visits the spans carved so far, from the one at `position` in the order of carving, the fine ones first,
  // for as long as visit(span) returns true. Returns the position where to go on; 0: all have been visited.
  template <class Visit>
  std::size_t visit_spans(std::size_t position, Visit&& visit) {
    const std::size_t fine = fine_.carved_bytes() >> fine_shift;
    const std::size_t all = fine + (coarse_.carved_bytes() >> coarse_shift);
    for (bool goes_on = true; goes_on && position < all; ++position)
      goes_on = visit(position < fine ? fine_.records()[position] : coarse_.records()[position - fine]);
    return position < all ? position : 0;
  }

  template <class Visit>
  void for_each_span(Visit&& visit) {
    visit_spans(0, [&](span_type& span) { return visit(span), true; });
  }

  // The size of the arena's address space. relaxed: the number publishes nothing.
  std::size_t bytes() const { return reserved_bytes_.load(std::memory_order_relaxed); }
  // The size of all fine spans carved so far, and of all spans.
  std::size_t fine_bytes() const { return fine_.carved_bytes(); }
  std::size_t carved_bytes() const { return fine_bytes() + coarse_.carved_bytes(); }

  // A span that another thread was carving is carved again: a span exists once it is published.
  void after_fork_in_child() {
    lock_.forget_holder();
    map_.after_fork_in_child();
  }

private:
  bool has_room_for_dropped() {
    const concurrent::lock_holder hold(lock_);
    return dropped_.has_room();
  }

  // Whether the fine span, which was just carved, becomes a guard for good: of guarded_span_period spans the
  // first does, unless the system refuses. Then its addresses serve as blocks of no bytes (checked_free.h).
  bool becomes_guard_now(span_type& span) {
    const std::uint32_t number = number_of(span), place = number / guarded_span_period;
    const bool is_guard =
        number % guarded_span_period == 0 &&
        install_guard<platform>(span.base, config.fine_span_bytes, place < most_guard_mappings);
    if (is_guard) span.secrets.set_guard();
    guard_places_.store(place + 1, std::memory_order_release);
    return is_guard;
  }

  // A coarse span has a guard behind the last page that blocks of any class may touch.
  void guard_end(const span_type& span) {
    char* const guard = span.base + align_up(classes::most_coarse_bytes(), os_pages::page_bytes());
    const bool may_split = &span - coarse_.records() < std::ptrdiff_t{most_guard_mappings};
    install_guard<platform>(guard, os_pages::page_bytes(), may_split);
  }

  span_type* carve_fine(unsigned column) {
    if (const auto number = dropped_.take()) return renewed(*number);
    if (const auto number = runs_.take(column)) return &records_[*number];
    const auto first = narrow<std::uint32_t>(fine_.carved_bytes() >> fine_shift);
    if (carve_fine_spans(runs_.length_from(first)))
      runs_.add_behind(first, column);
    else if (!carve_fine_spans(1)) {
      const auto number = runs_.take_any();
      return number ? &records_[*number] : nullptr;
    }
    return &records_[first];
  }

  bool carve_fine_spans(std::uint32_t count) {
    const std::size_t used = fine_.carved_bytes(), bytes = std::size_t{count} << fine_shift;
    const std::size_t limit = std::min(reserved_.first(), bytes_ - coarse_.carved_bytes());
    span_type* span = fine_.prepare(config.fine_span_bytes, bytes, limit);
    if (span == nullptr || !map_.cover(true, used + bytes)) return false;
    if (huge_pages_ == huge_page_policy::grown && used + bytes > next_part_) begin_part(used);
    for (std::size_t offset = 0; offset < bytes; offset += config.fine_span_bytes, ++span)
      span->base = base_ + used + offset;
    const std::size_t end = (used + bytes) >> step_shift;
    if (end > border_.load(std::memory_order_relaxed)) border_.store(end, std::memory_order_relaxed);
    fine_.publish(bytes);
    return true;
  }

  // The zone grows in parts, each of which gets huge pages where the spans of the part before are dense.
  // Spans that a thread has just begun to use are sparse; so are those of many threads, each with some blocks
  // of many sizes, and huge pages would make them resident as a whole. A small zone has to grow fast, too:
  // the page faults then are a tenth of its time.
  void begin_part(std::size_t used) {
    const std::size_t begin = align_up(used, os_pages::huge_page_bytes);
    const std::size_t part = align_up(std::max(config.huge_part_bytes, used / config.huge_part_divisor),
                                      os_pages::huge_page_bytes);
    next_part_ = std::min(begin + part, reserved_.first());
    const std::int64_t now = platform::milliseconds();
    const bool is_fast = now - std::exchange(part_begun_, now) <= config.fast_part_milliseconds;
    const std::size_t from = is_fast ? config.fast_huge_zone_bytes : config.huge_zone_bytes;
    if (begin < next_part_ && used >= from && are_dense(used - std::min(used, part), used))
      platform::advise_huge(base_ + begin, next_part_ - begin, true);
  }

  // Looks at some of the spans in these bytes of the fine zone.
  bool are_dense(std::size_t begin, std::size_t end) const {
    const std::size_t stride = std::max<std::size_t>(
        align_down((end - begin) / density_samples, config.fine_span_bytes), config.fine_span_bytes);
    std::size_t seen = 0, resident = 0;
    for (std::size_t at = begin; at < end; at += stride) {
      seen += config.fine_span_bytes;
      resident += fine_.records()[at >> fine_shift].resident_bytes();
    }
    return resident * 100 >= seen * dense_percent;
  }

  span_type* renewed(std::uint32_t number) {
    span_type& span = records_[number];
    span.base = base_ + (std::size_t{number} << fine_shift);
    span.word.store(span_word::expected(dropped_.epoch()).bits(), std::memory_order_relaxed);
    return &span;
  }

  span_type* carve_coarse() {
    const std::size_t limit = std::min(reserved_.last(), bytes_ - fine_.carved_bytes());
    span_type* const span = coarse_.prepare(config.coarse_span_bytes, config.coarse_span_bytes, limit);
    const std::size_t used = coarse_.carved_bytes() + config.coarse_span_bytes;
    if (span == nullptr || !map_.cover(false, used)) return nullptr;
    const std::size_t begin = bytes_ - used;
    span->base = base_ + begin;
    const std::size_t step = begin >> step_shift;
    if (step < border_.load(std::memory_order_relaxed)) border_.store(step, std::memory_order_relaxed);
    coarse_.publish(config.coarse_span_bytes);
    return span;
  }

  static void unmap(shrinking_reservation::parts parts) {
    for (const std::span<char> part : parts) platform::unmap(part.data(), part.size());
  }

  // What lies where in the reservation, in bytes from its beginning:
  //
  //   | map | records of fine spans | records of coarse spans | fine spans ->  ...  <- coarse spans |
  //   0     fine                    coarse                    spans                     spans + bytes
  bool reserve(std::size_t bytes) {
    // Each zone's records begin at a page, and those of the coarse zone a whole number of records behind the
    // others: all spans have one numbering.
    constexpr std::size_t unit = std::lcm(sizeof(span_type), os_pages::largest_page_bytes);
    const auto records_for = [bytes](std::size_t span_bytes) {
      return (bytes / span_bytes * sizeof(span_type) + unit - 1) / unit * unit;
    };
    const std::size_t fine = page_map<Traits>::bytes_for(bytes);
    const std::size_t coarse = fine + records_for(config.fine_span_bytes);
    const std::size_t end = coarse + (has_coarse_zone ? records_for(config.coarse_span_bytes) : 0);
    const std::size_t spans = align_up(end, config.arena_alignment());
    auto* const start = static_cast<char*>(reserve_scattered<platform, config>(spans + bytes));
    if (start == nullptr) return false;
    // No huge pages for the records either: a young process has few, and would pay a huge page for each zone.
    platform::advise_huge(start, spans + bytes, false);
    base_ = start + spans;
    map_.open(start, bytes);
    fine_.set(start + fine, coarse - fine, base_, growth_direction::up);
    coarse_.set(start + coarse, spans - coarse, base_ + bytes, growth_direction::down);
    bytes_ = bytes;
    reserved_.set(base_, bytes);
    reserved_bytes_.store(bytes, std::memory_order_relaxed);
    border_.store((has_coarse_zone ? bytes / 2 : bytes) >> step_shift, std::memory_order_relaxed);
    records_ = fine_.records();
    return true;
  }

  // Frees read these, and the beginning of the map. Only the border changes once the arena is open, under
  // lock_, and seldom.
  char* base_ = nullptr;
  typename Traits::template atomic<std::size_t> border_{0};
  span_type* records_ = nullptr;  // of fine spans, then of coarse spans, in one numbering
  page_map<Traits> map_;

  std::size_t bytes_ = 0;
  shrinking_reservation reserved_;  // of the spans
  typename Traits::template atomic<std::size_t> reserved_bytes_{0};
  huge_page_policy huge_pages_ = huge_page_policy::never;
  std::size_t small_bytes_ = 0;  // of the fine zone, in which no huge pages are made any more
  std::size_t next_part_ = config.huge_part_bytes;  // where begin_part decides next
  std::int64_t part_begun_ = 0;                     // in ms, when it decided last
  // Carving writes from here on.
  alignas(cache_line_bytes) concurrent::futex_lock<typename Traits::sync> lock_;
  arena_zone<Traits> fine_, coarse_;
  dropped_records<Traits> dropped_;
  span_runs<Traits> runs_;
  typename Traits::template atomic<std::size_t> guard_places_{0};
};

}  // namespace heaplab::scalloc
