// The span-pool (paper, section 3.3) holds all free spans: for each real-span size an array of lock-free
// stacks, one for each column. A thread uses the stack of its own column first, so threads meet only when a
// thread's own stack is empty.
//
// The pool retains the memory of free spans up to a bound (config.h, retained_span_bytes). A put that exceeds
// the bound purges a fraction of it together. Memory that no get needed for a whole decay period is purged by
// the background purge thread where much is retained (idle_purge.h), else by the next thread that puts or
// gets a span. With retention, spans without memory are used last (purged_spans.h).
//
// While the background purge thread is there, free spans may exceed the bound: every class takes every free
// span of its zone, so that a zone has little more memory than it once needed. The excess goes back before
// memory grows elsewhere (purge_for_growth).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "allocators/scalloc/arena/arena.h"
#include "allocators/scalloc/policy/config.h"
#include "allocators/scalloc/pool/purged_spans.h"
#include "allocators/scalloc/pool/retained_account.h"
#include "allocators/scalloc/spans/purge_batch.h"
#include "allocators/scalloc/spans/span.h"
#include "base/assertion.h"
#include "base/atomic.h"
#include "concurrent/index_stack.h"

namespace heaplab::scalloc {

template <class Traits>
class span_pool {
  using span_type = span<Traits>;
  using classes = typename Traits::classes;
  static constexpr const scalloc::config& config = Traits::config;

public:
  static constexpr unsigned column_limit = config.pool_column_limit;
  // When retained memory exceeds its bound, 1/N of the bound is purged at once. A small N makes system calls
  // rarer and page faults more.
  static constexpr std::size_t purge_divisor = 16;
  // A thread that needs memory elsewhere purges so much of the free spans beyond the bound itself, and leaves
  // the rest to the background purge thread. 4 MiB take 50 us.
  static constexpr std::size_t purge_for_growth_bytes = 4 * mib;

  // Called once, before every other function.
  void open(unsigned columns, const tuning& chosen) {
    columns_.store(std::clamp(columns, 1U, column_limit), std::memory_order_relaxed);
    purge_above_ = chosen.purge_above;
    retained_limit_ = chosen.retained_span_bytes;
    purge_at_once_ = chosen.purge_at_once;
    has_bound_on_put_ = !(chosen.retains_beyond_bound && chosen.purges_when_idle);
  }

  // A thread runs on the processor of this number. Columns only become more: what is in the others is found
  // as before.
  void see_processor(unsigned number) {
    const unsigned wanted = std::min(number, column_limit - 1) + 1;
    unsigned seen = columns();
    while (seen < wanted && !columns_.compare_exchange_weak(seen, wanted, std::memory_order_relaxed,
                                                            std::memory_order_relaxed)) {
    }
  }

  // Precondition: the span is in state free, has no owner, is in no list, and no other thread can reach it.
  void put(arena<Traits>& spans, span_type& span, std::uint32_t column) {
    HEAPLAB_ASSERT(span.is_free());
    const unsigned home = column % columns();
    const unsigned slot = span.kind().pool_slot;
    tails_.end_use(span, span.kind(), home);
    if (is_purged(span) && !retains()) purge_from(span, 0);
    const auto granted =
        is_purged(span) && retains() ? retained_.add(home, span.resident_bytes()) : std::nullopt;
    stacks_[slot][home].push(spans.number_of(span), pool_links(spans));
    if (granted) [[unlikely]]
      after_grant(spans, slot, home, *granted);
  }

  // Returns a free span of the class's zone, or null if every stack of the zone was empty at the moment the
  // loop reached it (the paper's pool promises no more).
  span_type* get(arena<Traits>& spans, unsigned class_index, std::uint32_t column) {
    const size_class& kind = classes::table[class_index];
    const unsigned home = column % columns();
    if constexpr (config.searches_from_first)
      if (span_type* const span = take(spans, kind.pool_slot, home, kind, home)) return span;
    for (unsigned step = 0; step < slot_count; ++step) {
      const unsigned slot =
          config.searches_from_first ? step : (kind.pool_slot + slot_count - step) % slot_count;
      if (slots[slot].fine != kind.fine) continue;
      for (unsigned turn = 0; turn < columns(); ++turn) {
        const unsigned from = config.searches_from_first ? turn : (home + turn) % columns();
        if (span_type* const span = take(spans, slot, from, kind, home)) return span;
      }
    }
    purge_for_growth(spans, home, kind.real_span_bytes);
    const auto number = purged_.get(spans, kind.fine, home, columns());
    return number ? &with_tail(spans, spans.span_number(*number), kind, home) : nullptr;
  }

  // Purges free spans but for about `pad` bytes. Returns whether any had memory.
  bool purge_all(arena<Traits>& spans, std::size_t pad) {
    if (pad == 0 || !retains()) return purge_any(spans, 0, unlimited, 0) > 0;
    const std::size_t retained = retained_bytes();
    return retained > pad && purge_any(spans, 0, retained - pad, purge_above_) > 0;
  }

  // Called before memory grows by up to `bytes` that no free span can serve: as much of the excess goes back,
  // a fraction of the bound at once. What would take long is left to the background purge thread, which goes
  // on at once: it purges a page faster than the program can touch one.
  void purge_for_growth(arena<Traits>& spans, unsigned column, std::size_t bytes) {
    if (has_bound_on_put_) return;
    const std::size_t excess = excess_of_bound(spans);
    if (excess == 0) return;
    // relaxed: growth that two threads count at once goes back once, by either.
    const std::size_t grown = grown_.fetch_add(bytes, std::memory_order_relaxed) + bytes;
    if (grown < static_cast<std::size_t>(bound(spans)) / purge_divisor) return;
    const std::size_t wanted = std::min(excess, grown_.exchange(0, std::memory_order_relaxed));
    const std::size_t now = std::min(wanted, purge_for_growth_bytes);
    purge_any(spans, column % columns(), now, purge_above_);
    if (wanted == now) return;
    // relaxed: hurry_purge publishes it.
    left_to_purge_thread_.fetch_add(wanted - now, std::memory_order_relaxed);
    Traits::hurry_purge();
  }

  // Called by the background purge thread: purges what purge_for_growth has left.
  void finish_purge_for_growth(arena<Traits>& spans) {
    const std::size_t left = left_to_purge_thread_.exchange(0, std::memory_order_relaxed);
    if (left > 0) purge_any(spans, 0, std::min(excess_of_bound(spans), left), purge_above_);
  }

  // Gives back the memory of records of spans without memory, where that may be `worth` bytes or more.
  void sweep_records(arena<Traits>& spans, std::size_t worth) {
    if (purged_.record_bytes() >= worth) purged_.sweep_records(spans, columns());
  }

  bool retains() const { return retained_limit_ > 0; }

  // Called often by the program's threads, for whom a purge of all that was retained would take too long.
  void decay_without_purge_thread(arena<Traits>& spans) {
    if (retains() && (has_bound_on_put_ || !Traits::has_purge_thread()))
      decay(spans, Traits::platform::milliseconds());
  }

  // Purges what no get needed for a decay period (retained_account.h). `now` is in ms.
  void decay(arena<Traits>& spans, std::int64_t now) {
    retained_.end_window(columns(), now, [&](unsigned column, std::size_t unneeded) {
      purge_column(spans, column, unneeded, 0);
    });
  }

  // Called by the background purge thread. False: little is retained, and the purge thread may end: no column
  // has a quota for much more, and the thread that needs a larger one asks for a purge (after_grant).
  bool retains_much() { return retained_.shrink_quotas(columns()) >= worth_a_purge_thread; }

  // How many ms after `now` decay() purges again at the earliest.
  std::int64_t until_decay(std::int64_t now) const { return retained_.until_window_ends(now); }

  void after_fork_in_child() { purged_.after_fork_in_child(); }

  unsigned columns() const { return columns_.load(std::memory_order_relaxed); }

  // Bytes of memory that free spans above the purge threshold still have.
  std::size_t retained_bytes() const { return static_cast<std::size_t>(retained_.sum(columns())); }
  // Bytes of the tails of spans in use.
  std::size_t tail_bytes() const { return static_cast<std::size_t>(tails_.sum(columns())); }

  // Whether the accounts are in order while no thread uses the pool.
  bool is_valid() const { return retained_.is_valid() && tails_.is_valid(); }

  // Visits the spans in the pool. Called while no thread changes a stack.
  template <class Visit>
  void for_each(arena<Traits>& spans, Visit&& visit) const {
    const auto visit_number = [&](std::uint32_t number) { visit(spans.span_number(number)); };
    for (const auto& slot : stacks_)
      for (const stack& numbers : slot) numbers.for_each(pool_links(spans), visit_number);
    purged_.for_each(spans, visit_number);
  }

private:
  using stack = concurrent::index_stack<typename Traits::sync>;
  static constexpr unsigned slot_count = classes::slot_count();
  static constexpr std::int64_t worth_a_purge_thread =
      static_cast<std::int64_t>(std::min<std::size_t>(config.idle_purge_bytes, INT64_MAX));

  struct slot_kind {
    bool fine = false;
    std::uint32_t most_bytes = 0;  // the largest real span
  };
  static constexpr auto slots = [] {
    std::array<slot_kind, slot_count> result{};
    for (const size_class& kind : classes::table) {
      slot_kind& slot = result[kind.pool_slot];
      slot = {kind.fine, std::max(slot.most_bytes, kind.real_span_bytes)};
    }
    return result;
  }();

  // A span of that stack, for the class and a thread of the column `home`. Null: the stack was empty.
  span_type* take(arena<Traits>& spans, unsigned slot, unsigned from, const size_class& kind, unsigned home) {
    const auto number = stacks_[slot][from].try_pop(pool_links(spans));
    if (!number) return nullptr;
    span_type& span = spans.span_number(*number);
    HEAPLAB_ASSERT(span.is_free());
    release(span, from);
    if (span.resident_bytes() < kind.real_span_bytes && !kind.fine)
      purge_for_growth(spans, home, kind.real_span_bytes - span.resident_bytes());
    return &with_tail(spans, span, kind, home);
  }

  span_type& with_tail(const arena<Traits>& spans, span_type& span, const size_class& kind, unsigned home) {
    tails_.begin_use(span, kind, home, columns(), retains() ? share_of_zone(spans) : 0);
    return span;
  }

  std::size_t excess_of_bound(const arena<Traits>& spans) const {
    return static_cast<std::size_t>(std::max<std::int64_t>(retained_.sum(columns()) - bound(spans), 0));
  }

  // The bound on the memory of all free spans.
  std::int64_t bound(const arena<Traits>& spans) const {
    return static_cast<std::int64_t>(retained_limit_) + share_of_zone(spans);
  }
  static std::int64_t share_of_zone(const arena<Traits>& spans) {
    return static_cast<std::int64_t>(spans.fine_bytes() / config.retained_fine_divisor);
  }

  // A column was granted more; all have `granted` now. Above the bound, unless the background purge thread
  // sees to the excess, unused quotas are taken back; if none is left to give then, a fraction of the bound
  // is purged, from the stack that grew.
  void after_grant(arena<Traits>& spans, unsigned slot, unsigned home, std::int64_t granted) {
    if (const std::int64_t most = bound(spans);
        granted > most && (has_bound_on_put_ || !Traits::ask_for_purge())) {
      granted = retained_.shrink_quotas(columns());
      const auto kept = static_cast<std::int64_t>(most - most / purge_divisor);
      if (granted > kept && granted + config.retained_ahead_bytes > most) {
        purge_newest(spans, stacks_[slot][home], home, static_cast<std::size_t>(granted - kept));
        granted = retained_.shrink_quotas(columns());
      }
    }
    if (granted >= worth_a_purge_thread) Traits::ask_for_purge();
  }

  // Purges free spans, those of the column `home` first, until `wanted` bytes are purged or none is left: of
  // stacks for real spans above `least` bytes. Returns the bytes.
  std::size_t purge_any(arena<Traits>& spans, unsigned home, std::size_t wanted, std::size_t least) {
    std::size_t done = 0;
    for (unsigned turn = 0; turn < columns() && done < wanted; ++turn)
      done += purge_column(spans, (home + turn) % columns(), wanted - done, least);
    return done;
  }

  std::size_t purge_column(arena<Traits>& spans, unsigned column, std::size_t wanted, std::size_t least) {
    std::size_t done = 0;
    for (unsigned slot = 0; slot < slot_count && done < wanted; ++slot)
      if (slots[slot].most_bytes > least)
        done += purge_newest(spans, stacks_[slot][column], column, wanted - done);
    return done;
  }

  // Whether the memory of a free span is purged some day.
  bool is_purged(const span_type& span) const { return span.kind().real_span_bytes > purge_above_; }

  // Called for a span that was popped from a stack of the column.
  void release(const span_type& span, unsigned column) {
    if (retains() && is_purged(span)) retained_.subtract(column, span.resident_bytes());
  }

  // Purges from the newest span of a stack on, until `wanted` bytes are purged or the stack is empty. Returns
  // the bytes. The newest spans lie where memory is being freed now, many of them side by side.
  std::size_t purge_newest(arena<Traits>& spans, stack& from, unsigned column, std::size_t wanted) {
    purge_batch<Traits> batch;
    std::size_t done = 0;
    while (done < wanted) {
      const auto number = from.try_pop(pool_links(spans));
      if (!number) break;
      span_type& span = spans.span_number(*number);
      done += span.resident_bytes();
      add_to(batch, spans, column, span);
    }
    flush(spans, batch, column);
    return done;
  }

  void add_to(purge_batch<Traits>& batch, arena<Traits>& spans, unsigned column, span_type& span) {
    release(span, column);
    batch.add(span);
    if (batch.is_full()) flush(spans, batch, column);
  }

  void flush(arena<Traits>& spans, purge_batch<Traits>& batch, unsigned column) {
    batch.flush(purge_at_once_, [&](span_type& span) {
      purged_.put(spans, spans.number_of(span), span.kind().fine, column);
    });
  }

  // relaxed: every value there was shows all stacks that were in use then. No point for the explorer.
  heaplab::atomic<unsigned> columns_{1};
  std::size_t purge_above_ = unlimited, retained_limit_ = 0;
  bool purge_at_once_ = false;
  // Whether a put that exceeds the bound purges the excess, for want of a background purge thread.
  bool has_bound_on_put_ = true;
  // Bytes: by how much memory has grown since something gave way, and what is yet to go.
  typename Traits::template atomic<std::size_t> grown_{0}, left_to_purge_thread_{0};
  retained_account<Traits> retained_;
  span_tails<Traits> tails_;
  stack stacks_[slot_count][column_limit];
  purged_spans<Traits> purged_;
};

}  // namespace heaplab::scalloc
