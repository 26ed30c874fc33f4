// Gives whole free pages inside spans that are in use back to the system (holes.h).
//
// The background purge thread looks at the spans in turn, and takes holes from those that nobody has changed
// since its last look; malloc_trim takes them from all. Pages go back without a lock: until then a span is in
// its owner's list `purging`, where nobody takes blocks from it. A thread that frees the last block of such a
// span leaves the span to the sweep.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "allocators/scalloc/frontend/holes.h"
#include "allocators/scalloc/frontend/span_life.h"
#include "allocators/scalloc/spans/freed_blocks.h"
#include "base/compiler.h"
#include "base/narrow.h"
#include "base/os_pages.h"
#include "concurrent/futex_lock.h"
#include "concurrent/solo_sections.h"

namespace heaplab::scalloc {

template <class Traits>
class hole_sweep {
  using span_type = span<Traits>;
  using classes = typename Traits::classes;
  using sync = typename Traits::sync;
  using sections = concurrent::solo_sections<sync>;
  static constexpr const scalloc::config& config = Traits::config;
  // Most spans of one look of the background purge thread, and most ranges of pages that it gives back: some
  // milliseconds each, once in a decay period.
  static constexpr std::size_t spans_per_look = 256 * kib, purges_per_look = 32 * kib;

public:
  constexpr explicit hole_sweep(span_life<Traits>& life) : life_(life) {}

  // Called by the background purge thread, of which solo_sections need know. `now` is in ms. True: there is
  // more that may go some time.
  bool sweep_quiet(std::int64_t now) {
    if (life_.arena.carved_bytes() < config.hole_sweep_bytes) return false;
    if (now < next_look_) return true;
    if (!lock_.try_lock()) return true;
    next_look_ = now + config.decay_milliseconds;
    if (position_ == 0) waiting_ = 0;
    look_at_spans(spans_per_look, purges_per_look, true);
    lock_.unlock();
    return position_ != 0 || waiting_ >= config.idle_purge_bytes;
  }

  // Called by a thread of the program. True if any memory went back.
  bool sweep_all() {
    if (!config.purges_holes || !lock_.try_lock()) return false;
    position_ = 0;
    const bool any = look_at_spans(SIZE_MAX, SIZE_MAX, false);
    lock_.unlock();
    return any;
  }

  // Bytes that sweep_all() would give back, but for those of hot spans. Called by a thread of the program.
  HEAPLAB_SLOW_PATH std::size_t returnable_bytes() {
    const concurrent::lock_holder hold(lock_);
    std::size_t result = 0;
    life_.arena.for_each_span([&](span_type& span) {
      if (!unswept_of(span)) return;
      with_lists(span, [&](const lab<Traits>&) {
        const span_holes<Traits> holes(span, span.kind());
        if (span_holes<Traits>::are_named(span.kind()))
          result += static_cast<std::size_t>(std::popcount(holes.find())) * os_pages::page_bytes();
        else
          holes.for_each_inside([&](const char*, std::size_t bytes) { result += bytes; });
        return true;
      });
    });
    return result;
  }

  // In the child of a fork, whose lists are whole again. Another thread may have stood anywhere in a sweep:
  // what it took out of lists is lost with the spans' holes.
  void after_fork_in_child() {
    lock_.forget_holder();
    for (std::size_t index = 0; index < span_count_; ++index) {
      spans_[index]->holes = 0;
      end_purge(life_, *spans_[index]);
    }
    span_count_ = range_count_ = 0;
    is_visiting_ = false;
  }

private:
  // Returns whether any pages went back.
  bool look_at_spans(std::size_t spans, std::size_t purges, bool only_quiet) {
    purged_ = 0;
    bool refused = false;
    position_ = life_.arena.visit_spans(position_, [&](span_type& span) {
      if (!is_worth_a_purge(span, only_quiet)) return --spans > 0;
      if (span.load_word(std::memory_order_relaxed).state() == span_state::hot) {
        sweep_hot(span);
        return --spans > 0 && purged_ < purges;
      }
      // The background purge thread takes the locks of others only during a visit.
      if (only_quiet && !is_visiting_) is_visiting_ = sections::begin_visit();
      refused = only_quiet && !is_visiting_;
      if (refused) return false;
      begin(span);
      return --spans > 0 && purged_ < purges;
    });
    flush();
    if (std::exchange(is_visiting_, false)) sections::end_visit();
    if (refused) position_ = waiting_ = 0;
    return purged_ > 0;
  }

  struct unswept {
    std::uint32_t mark;  // of the span, for when it has been swept
    std::size_t free_bytes;
  };

  // Nothing: the span can have no holes, or has been swept since it last changed.
  static std::optional<unswept> unswept_of(const span_type& span) {
    const span_word word = span.load_word(std::memory_order_acquire);
    const bool is_hot = word.state() == span_state::hot;
    if (!is_hot && word.state() != span_state::floating && word.state() != span_state::reusable) return {};
    // The thread of a program that has one thread moves words without atomic instructions.
    if (is_hot && (word.remote_count() == 0 || sync::is_alone())) return {};
    const size_class& kind = span.kind();
    const std::int32_t used = span.used();
    const std::int64_t remote = word.remote_count();
    const std::int64_t free_bytes = (is_hot ? remote : kind.blocks - used + remote) * kind.block_bytes;
    if (free_bytes < static_cast<std::int64_t>(os_pages::page_bytes())) return {};
    const std::uint32_t mark = mark_of(word, used);
    if (span.last_seen == mark) return {};
    return unswept{mark, static_cast<std::size_t>(free_bytes)};
  }

  // Whether the span is to be swept now; for the background purge thread, whether the span is as that thread
  // saw it at the last look.
  bool is_worth_a_purge(span_type& span, bool only_quiet) {
    const std::optional<unswept> found = unswept_of(span);
    if (!found) return false;
    const std::uint32_t seen = found->mark | 1;
    const bool is_quiet = span.last_seen == seen;
    span.last_seen = is_quiet || !only_quiet ? found->mark : seen;
    if (span.last_seen == seen) waiting_ += found->free_bytes;
    return span.last_seen == found->mark;
  }

  void begin(span_type& span) {
    if (range_count_ + most_ranges_of_a_span > purge_batch_spans || span_count_ == purge_batch_spans) flush();
    spans_[span_count_] = &span;
    std::atomic_signal_fence(std::memory_order_seq_cst);
    span_count_ += 1;
    const bool any = begin_purge(life_, span, [&] {
      const std::size_t before = range_count_;
      span_holes<Traits> holes(span, span.kind());
      span.holes |= add_all(holes, span, span.kind());
      return range_count_ > before;
    });
    if (!any) --span_count_;
  }

  // What tells whether the span has changed: an even number.
  static std::uint32_t mark_of(span_word word, std::int32_t used) {
    const std::uint64_t both = (word.bits() ^ static_cast<std::uint32_t>(used)) * 0x9E37'79B9'7F4A'7C15;
    return narrow<std::uint32_t>(both >> 32) & ~1U;
  }

  // Adds the ranges of all holes. Returns those that the record must name.
  std::uint32_t add_all(span_holes<Traits>& holes, const span_type& span, const size_class& kind) {
    if (!span_holes<Traits>::are_named(kind)) {
      holes.for_each_inside([&](char* begin, std::size_t bytes) { add(begin, bytes); });
      return 0;
    }
    const std::uint32_t named = holes.detach();
    const std::size_t page = os_pages::page_bytes();
    for (std::uint32_t left = named; left != 0;) {
      const int first = std::countr_zero(left), count = std::countr_one(left >> first);
      add(span.base + static_cast<std::size_t>(first) * page, static_cast<std::size_t>(count) * page);
      left = first + count < 32 ? left >> (first + count) << (first + count) : 0;
    }
    return named;
  }

  // Sweeps a hot span, whose owner may be asleep. Only the owner takes blocks from the local list; the sweep
  // takes the remote list, which makes the blocks that other threads freed its own. It frees them again as a
  // remote free does, except those that begin in a hole. Until then they count as used.
  void sweep_hot(span_type& span) {
    flush();
    borrow_remote(life_, span, [&](void* chain, freed_chain& back) {
      const size_class& kind = span.kind();
      span_holes<Traits> holes(span, kind, chain);
      const std::uint32_t named = add_all(holes, span, kind);
      back.newest_block = chain;
      back.oldest_block = holes.last();
      flush();
      return named;
    });
    span.last_seen = mark_of(span.load_word(std::memory_order_acquire), span.used());
  }

  void add(char* begin, std::size_t bytes) {
    if (range_count_ < purge_batch_spans) ranges_[range_count_++] = {begin, bytes};
  }

  void flush() {
    if (range_count_ > 0) Traits::platform::purge_each({ranges_.data(), range_count_});
    for (std::size_t index = 0; index < span_count_; ++index) end_purge(life_, *spans_[index]);
    purged_ += range_count_;
    span_count_ = range_count_ = 0;
  }

  static constexpr std::size_t most_ranges_of_a_span = 32;

  span_life<Traits>& life_;
  // Held by the thread that sweeps.
  concurrent::futex_lock<sync> lock_;
  std::size_t position_ = 0;    // where the next look begins; 0: anew
  std::size_t waiting_ = 0;     // bytes of free blocks in spans that had changed since the last look
  std::int64_t next_look_ = 0;  // ms
  std::size_t purged_ = 0;      // ranges, in this look
  bool is_visiting_ = false;
  std::array<span_type*, purge_batch_spans> spans_ = {};
  std::size_t span_count_ = 0;
  std::array<iovec, purge_batch_spans> ranges_ = {};
  std::size_t range_count_ = 0;
};

}  // namespace heaplab::scalloc
