// The span-pool (paper, section 3.3) holds all free spans: for each real-span size an array of lock-free
// stacks, one for each column. A thread uses the stack of its own column first, so threads meet only when a
// thread's own stack is empty.
//
// The pool retains the memory of free spans up to a bound (config.h, retained_span_bytes). A put that exceeds
// the bound purges a fraction of it together. Memory that no get needed for a whole decay period is purged by
// the next thread that puts or gets a span, or where much is retained by the heap's own (idle_purge.h).
//
// A span that passes to a class of smaller real spans keeps memory which the new class never touches, its
// tail, within a share of the fine zone (retained_fine_divisor): the next class is likely to need it again.
// With retention, spans without memory are used last (bare_spans.h).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "allocators/scalloc/arena.h"
#include "allocators/scalloc/bare_spans.h"
#include "allocators/scalloc/purge_batch.h"
#include "allocators/scalloc/retained_account.h"
#include "allocators/scalloc/span.h"
#include "allocators/scalloc/tuning.h"
#include "base/assertion.h"
#include "base/atomic.h"
#include "base/bits.h"
#include "concurrent/index_stack.h"
#include "concurrent/split_account.h"

namespace heaplab::scalloc {

template <class Traits>
class span_pool {
  using span_type = span<Traits>;
  using classes = typename Traits::classes;
  static constexpr const config& settings = Traits::settings;

public:
  static constexpr unsigned column_limit = settings.pool_column_limit;

  // Called once, before every other function.
  void open(unsigned columns, const tuning& chosen) {
    columns_.store(std::clamp(columns, 1U, column_limit), std::memory_order_relaxed);
    purge_above_ = chosen.purge_above;
    purge_at_once_ = chosen.purge_at_once;
    retained_limit_ = chosen.retained_span_bytes;
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
  void put(arena<Traits>& spans, span_type& it, std::uint32_t column) {
    HEAPLAB_ASSERT(it.is_free());
    const unsigned home = column % columns();
    const unsigned slot = kind_of(it).pool_slot;
    end_use_of_tail(it, home);
    if (is_purged(it) && !retains()) purge_from(it, 0);
    const auto granted = is_purged(it) && retains() ? retained_.add(home, it.resident_bytes()) : std::nullopt;
    stacks_[slot][home].push(spans.number_of(it), pool_links(spans));
    if (granted) [[unlikely]]
      after_grant(spans, slot, home, *granted);
  }

  // Returns a free span of the class's zone, or null if every stack of the zone was empty at the moment the
  // loop reached it (the paper's pool promises no more).
  span_type* get(arena<Traits>& spans, unsigned class_index, std::uint32_t column) {
    const size_class& kind = classes::table[class_index];
    const unsigned home = column % columns();
    for (unsigned step = 0; step < slot_count; ++step) {
      const unsigned slot = (kind.pool_slot + slot_count - step) % slot_count;
      if (slot_is_fine[slot] != kind.fine) continue;
      for (unsigned turn = 0; turn < columns(); ++turn)
        if (const unsigned from = (home + turn) % columns();
            const auto number = stacks_[slot][from].try_pop(pool_links(spans))) {
          span_type& it = spans.span_number(*number);
          release(it, from);
          return &with_tail_in_use(spans, it, kind, home);
        }
    }
    const auto number = bare_.get(spans, kind.fine, home, columns());
    return number ? &with_tail_in_use(spans, spans.span_number(*number), kind, home) : nullptr;
  }

  // Purges all free spans but the newest that have up to `pad` bytes together. Returns whether any had
  // memory.
  bool purge_all(arena<Traits>& spans, std::size_t pad) {
    bool any = false;
    for (auto& slot : stacks_)
      for (unsigned column = 0; column < columns(); ++column)
        any |= purge_all_but(spans, slot[column], column, pad);
    return any;
  }

  // Gives back the memory of records of spans without memory, where that may be `worth` bytes or more.
  void sweep_records(arena<Traits>& spans, std::size_t worth) {
    if (bare_.record_bytes() >= worth) bare_.sweep_records(spans, columns());
  }

  // Whether the pool may retain memory of free spans.
  bool retains() const { return retained_limit_ > 0; }

  // Purges what no get needed for a decay period (retained_account.h). `now` is in ms. Call often.
  void decay(arena<Traits>& spans, std::int64_t now) {
    retained_.end_window(columns(), now, [&](unsigned column, std::size_t unneeded) {
      purge_column(spans, column, unneeded);
    });
  }

  // Called by the heap's own thread. False: little is retained, and no column has a quota for more: the
  // thread that must be granted more asks for a purge (after_grant).
  bool retains_much() { return retained_.take_back(columns()) >= worth_a_helper; }

  // How many ms after `now` decay() purges again at the earliest.
  std::int64_t until_decay(std::int64_t now) const { return retained_.until_window_ends(now); }

  unsigned columns() const { return columns_.load(std::memory_order_relaxed); }

  // Bytes of memory that free spans above the purge threshold still have.
  std::size_t retained_bytes() const { return static_cast<std::size_t>(retained_.sum(columns())); }
  // Bytes of the tails of spans in use.
  std::size_t tail_bytes() const { return static_cast<std::size_t>(tails_.sum(columns())); }

  // Whether the accounts are in order while no thread uses the pool.
  bool is_valid() const { return retained_.is_valid() && tails_.is_valid(); }

private:
  using stack = concurrent::index_stack<typename Traits::sync>;
  static constexpr unsigned slot_count = classes::slot_count();
  static constexpr std::int64_t worth_a_helper =
      static_cast<std::int64_t>(std::min<std::size_t>(settings.idle_purge_bytes, INT64_MAX));

  static constexpr auto slot_is_fine = [] {
    std::array<bool, slot_count> result{};
    for (const size_class& it : classes::table) result[it.pool_slot] = it.fine;
    return result;
  }();

  // The class that used the span last.
  static const size_class& kind_of(const span_type& it) {
    return classes::table[it.class_index.load(std::memory_order_relaxed)];
  }

  // Purges the span's memory beyond its first `kept` bytes, in whole pages. The system may refuse; the span
  // then has all its memory as before.
  static void purge_from(span_type& it, std::uint32_t kept) {
    const std::size_t begin = align_up(kept, os_pages::page_bytes());
    const std::size_t end = align_up(it.resident_bytes(), os_pages::page_bytes());
    if (begin < end && Traits::platform::purge(it.base + begin, end - begin))
      it.set_resident_bytes(static_cast<std::uint32_t>(begin));
  }

  // --- tails ---

  // Bytes of memory beyond the real span of a class.
  static std::size_t tail_of(const span_type& it, const size_class& kind) {
    return it.resident_bytes() - std::min(it.resident_bytes(), kind.real_span_bytes);
  }

  // Called for a span that a class begins to use. The account counts exactly the tails there are, so that
  // end_use_of_tail subtracts what was added: a tail does not change while the span is in use.
  span_type& with_tail_in_use(arena<Traits>& spans, span_type& it, const size_class& kind, unsigned home) {
    const std::size_t tail = tail_of(it, kind);
    if (tail == 0) return it;
    const std::int64_t most = retains() ? share_of_fine_zone(spans) : 0;
    if (tails_.add(home, tail).value_or(0) <= most || tails_.take_back(columns()) <= most) return it;
    purge_from(it, kind.real_span_bytes);
    tails_.subtract(home, tail - tail_of(it, kind));
    tails_.take_back(columns());
    return it;
  }

  void end_use_of_tail(const span_type& it, unsigned home) {
    if (const std::size_t tail = tail_of(it, kind_of(it)); tail > 0) tails_.subtract(home, tail);
  }

  // --- retained memory ---

  // The part of the fine zone by which retained memory, and tails, may grow with the program.
  static std::int64_t share_of_fine_zone(const arena<Traits>& spans) {
    return static_cast<std::int64_t>(spans.fine_bytes() / settings.retained_fine_divisor);
  }

  // A column was granted more; all have `granted` now. Above the bound, unused quotas are taken back; if none
  // is left to give then, a fraction of the bound is purged from the stack that grew.
  void after_grant(arena<Traits>& spans, unsigned slot, unsigned home, std::int64_t granted) {
    if (const std::int64_t most = static_cast<std::int64_t>(retained_limit_) + share_of_fine_zone(spans);
        granted > most) {
      granted = retained_.take_back(columns());
      const auto kept = static_cast<std::int64_t>(most - most / settings.purge_divisor);
      if (granted > kept && granted + settings.retained_ahead_bytes > most) {
        purge_newest(spans, stacks_[slot][home], home, static_cast<std::size_t>(granted - kept));
        granted = retained_.take_back(columns());
      }
    }
    if (granted >= worth_a_helper) Traits::ask_for_purge();
  }

  // Whether the memory of this free span is purged some day.
  bool is_purged(const span_type& it) const { return kind_of(it).real_span_bytes > purge_above_; }

  // Called for a span that was popped from a stack of the column.
  void release(const span_type& it, unsigned column) {
    if (retains() && is_purged(it)) retained_.subtract(column, it.resident_bytes());
  }

  // Purges free spans of a column until `wanted` bytes are purged or none is left.
  void purge_column(arena<Traits>& spans, unsigned column, std::size_t wanted) {
    std::size_t done = 0;
    for (auto& slot : stacks_)
      if (done < wanted) done += purge_oldest(spans, slot[column], column, wanted - done);
  }

  // Purges from the oldest span of a stack on. A popped span is out of reach, and another thread that finds
  // the stack empty may carve a new one; so the others are back before the first system call.
  std::size_t purge_oldest(arena<Traits>& spans, stack& from, unsigned column, std::size_t wanted) {
    stack reversed, leaving;
    while (const auto number = from.try_pop(pool_links(spans))) reversed.push(*number, pool_links(spans));
    std::size_t done = 0;
    while (const auto number = reversed.try_pop(pool_links(spans))) {
      const std::size_t bytes = spans.span_number(*number).resident_bytes();
      const bool leaves = done < wanted && bytes > 0;
      (leaves ? leaving : from).push(*number, pool_links(spans));
      if (leaves) done += bytes;
    }
    purge_batch<Traits> batch;
    while (const auto number = leaving.try_pop(pool_links(spans)))
      add_to(batch, spans, column, spans.span_number(*number));
    flush(spans, batch, column);
    return done;
  }

  // Purges a stack but for its newest spans of up to `left` bytes, which it takes off `left`. Returns whether
  // any of the others had memory.
  bool purge_all_but(arena<Traits>& spans, stack& from, unsigned column, std::size_t& left) {
    stack retained;
    bool any = false;
    purge_batch<Traits> batch;
    while (const auto number = from.try_pop(pool_links(spans))) {
      span_type& it = spans.span_number(*number);
      if (it.resident_bytes() <= left) {
        left -= it.resident_bytes();
        retained.push(*number, pool_links(spans));
      } else {
        add_to(batch, spans, column, it);
        any = true;
      }
    }
    while (const auto number = retained.try_pop(pool_links(spans))) from.push(*number, pool_links(spans));
    flush(spans, batch, column);
    return any;
  }

  // Purges from the newest span of a stack on, until `wanted` bytes are purged or the stack is empty. The
  // newest spans lie where memory is being freed now, many of them side by side.
  void purge_newest(arena<Traits>& spans, stack& from, unsigned column, std::size_t wanted) {
    purge_batch<Traits> batch;
    for (std::size_t done = 0; done < wanted;) {
      const auto number = from.try_pop(pool_links(spans));
      if (!number) break;
      span_type& it = spans.span_number(*number);
      done += it.resident_bytes();
      add_to(batch, spans, column, it);
    }
    flush(spans, batch, column);
  }

  void add_to(purge_batch<Traits>& batch, arena<Traits>& spans, unsigned column, span_type& it) {
    release(it, column);
    batch.add(it);
    if (batch.is_full()) flush(spans, batch, column);
  }

  void flush(arena<Traits>& spans, purge_batch<Traits>& batch, unsigned column) {
    batch.flush(purge_at_once_,
                [&](span_type& it) { bare_.put(spans, spans.number_of(it), kind_of(it).fine, column); });
  }

  // relaxed: every value there was shows all stacks that were in use then. No point for the explorer.
  heaplab::atomic<unsigned> columns_{1};
  std::size_t purge_above_ = unlimited;
  bool purge_at_once_ = false;
  std::size_t retained_limit_ = 0;
  retained_account<Traits> retained_;
  // A tail counts in the column of the thread that took the span, until the thread that puts the span back
  // subtracts in its own.
  concurrent::split_account<typename Traits::sync, column_limit> tails_{settings.retained_ahead_bytes};
  stack stacks_[slot_count][column_limit];
  bare_spans<Traits> bare_;
};

}  // namespace heaplab::scalloc
