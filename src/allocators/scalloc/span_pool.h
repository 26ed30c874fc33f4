// The span-pool (paper, section 3.3): all free spans, by real span size, each size an array of lock-free
// stacks. A thread puts into and takes from the stack of its own column first, and so meets others only when
// its own stack is empty.
//
// Memory of free spans is kept for reuse within a bound (config.h, retained_span_bytes). Who exceeds it gives
// back a sixteenth of it, in one call. What was kept for a whole second without being needed goes back too,
// by whichever thread puts or gets a span next: the least that was kept at any moment of that second. A
// process in which no thread does keeps what it has.
//
// Where memory is kept, spans that have none left wait in stacks of their own, to be used last.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "allocators/scalloc/arena.h"
#include "allocators/scalloc/discard_batch.h"
#include "allocators/scalloc/span.h"
#include "allocators/scalloc/tuning.h"
#include "concurrent/index_stack.h"

namespace heaplab::scalloc {

template <class Traits>
class span_pool {
  using span_type = span<Traits>;
  using classes = typename Traits::classes;
  static constexpr const config& settings = Traits::settings;

public:
  static constexpr unsigned column_limit = 64;

  // Once, before all else.
  void open(unsigned columns, const tuning& chosen) {
    columns_ = std::clamp(columns, 1U, column_limit);
    discard_above_ = chosen.discard_above;
    retained_limit_ = chosen.retained_span_bytes;
  }

  // The caller alone has the span: it is in state free, has no owner, and is in no list.
  void put(arena<Traits>& spans, span_type& it, std::uint32_t column) {
    const size_class& kind = classes::table[it.class_index.load(std::memory_order_relaxed)];
    stack& home = stack_at(kind.pool_slot, column);
    const bool counts = it.resident_bytes > discard_above_;
    if (counts && !keeps()) discard_from(it, 0);
    const std::size_t kept = counts && keeps() ? retain(it.resident_bytes) : 0;
    home.push(spans.number_of(it), links(spans));
    if (const std::size_t most = bound(spans); kept > most)
      discard_newest(spans, home, column, most - most / 16);
  }

  // Null: there is no free span in the zone of the class. (Or there was none in each stack at the moment it
  // was looked at; the paper's pool does not promise more.)
  span_type* get(arena<Traits>& spans, unsigned class_index, std::uint32_t column) {
    const size_class& kind = classes::table[class_index];
    for (unsigned step = 0; step < slot_count; ++step) {
      const unsigned slot = (kind.pool_slot + slot_count - step) % slot_count;
      if (slot_is_fine[slot] != kind.fine) continue;
      for (unsigned turn = 0; turn < columns_; ++turn)
        if (const auto number = stack_at(slot, column + turn).try_pop(links(spans)))
          return &prepare(spans.span_number(*number), kind);
    }
    for (unsigned turn = 0; turn < columns_; ++turn)
      if (const auto number = bare_at(kind.fine, column + turn).try_pop(links(spans)))
        return &spans.span_number(*number);
    return nullptr;
  }

  // Gives the memory of all free spans back. True if there was any.
  bool discard_all(arena<Traits>& spans) { return discard(spans, unlimited) > 0; }

  // Whether memory of free spans may be kept.
  bool keeps() const { return retained_limit_ > 0; }

  // Gives back what has not been needed for a while. `now` in ms; to be called often.
  void age(arena<Traits>& spans, std::int64_t now) {
    std::int64_t since = period_start_.load(std::memory_order_relaxed);
    if (now - since < period) return;
    if (!period_start_.compare_exchange_strong(since, now, std::memory_order_relaxed,
                                               std::memory_order_relaxed))
      return;
    const std::size_t unneeded = least_retained_.exchange(retained_bytes(), std::memory_order_relaxed);
    if (unneeded > 0) discard(spans, unneeded);
  }

  unsigned columns() const { return columns_; }

  // Memory of free spans larger than the threshold that was not given back.
  std::size_t retained_bytes() const { return retained_.load(std::memory_order_relaxed); }

private:
  using stack = concurrent::index_stack<typename Traits::sync>;
  static constexpr unsigned slot_count = classes::slot_count();

  static constexpr auto slot_is_fine = [] {
    std::array<bool, slot_count> result{};
    for (const size_class& it : classes::table) result[it.pool_slot] = it.fine;
    return result;
  }();

  static constexpr std::int64_t period = 1'000;  // ms

  static auto links(arena<Traits>& spans) {
    return [&spans](std::uint32_t number) -> auto& { return spans.span_number(number).pool_next; };
  }

  stack& stack_at(unsigned slot, std::uint32_t column) { return stacks_[slot][column % columns_]; }
  stack& bare_at(bool fine, std::uint32_t column) { return bare_[fine ? 1 : 0][column % columns_]; }

  // Memory from `keep` bytes on goes back to the system. A span that was larger must not keep, in a class of
  // smaller spans, what that class never touches.
  static void discard_from(span_type& it, std::uint32_t keep) {
    if (it.resident_bytes <= keep) return;
    os_pages::discard(it.base + keep, it.resident_bytes - keep);
    it.resident_bytes = keep;
  }

  // Where memory is kept, an eighth more is no reason for a system call.
  span_type& prepare(span_type& it, const size_class& kind) {
    release(it.resident_bytes);
    const std::uint32_t slack = keeps() ? kind.real_span_bytes / 8 : 0;
    if (it.resident_bytes > kind.real_span_bytes + slack) discard_from(it, kind.real_span_bytes);
    return it;
  }

  std::size_t bound(arena<Traits>& spans) const { return retained_limit_ + spans.fine_bytes() / 16; }

  // The account of memory kept: only a bound, it publishes nothing, so relaxed throughout. Whoever puts a
  // span enters it, whoever pops it strikes it out. The least may miss a change: it is a wish, no account.
  std::size_t retain(std::size_t bytes) {
    return retained_.fetch_add(bytes, std::memory_order_relaxed) + bytes;
  }

  void release(std::size_t bytes) {
    if (!keeps() || bytes <= discard_above_) return;
    const std::size_t left = retained_.fetch_add(0 - bytes, std::memory_order_relaxed) - bytes;
    if (left < least_retained_.load(std::memory_order_relaxed))
      least_retained_.store(left, std::memory_order_relaxed);
  }

  // Gives memory of free spans back until it was `wanted` bytes or there is no more. Returns how many.
  std::size_t discard(arena<Traits>& spans, std::size_t wanted) {
    std::size_t done = 0;
    for (auto& slot : stacks_)
      for (unsigned column = 0; column < columns_ && done < wanted; ++column)
        done += discard_oldest(spans, slot[column], column, wanted - done);
    return done;
  }

  // The oldest first. What is popped here is out of reach until it is put back: another thread may carve a
  // new span meanwhile.
  std::size_t discard_oldest(arena<Traits>& spans, stack& from, std::uint32_t column, std::size_t wanted) {
    stack reversed;
    while (const auto number = from.try_pop(links(spans))) reversed.push(*number, links(spans));
    std::size_t done = 0;
    discard_batch<Traits> batch;
    while (const auto number = reversed.try_pop(links(spans))) {
      span_type& it = spans.span_number(*number);
      if (done < wanted && it.resident_bytes > 0) {
        done += it.resident_bytes;
        give_up(spans, batch, column, it);
      } else {
        from.push(*number, links(spans));
      }
    }
    flush(spans, batch, column);
    return done;
  }

  // Until no more than `most` bytes are kept or the stack is empty. The newest lie where memory is being
  // freed now, many of them side by side.
  void discard_newest(arena<Traits>& spans, stack& from, std::uint32_t column, std::size_t most) {
    discard_batch<Traits> batch;
    while (retained_bytes() > most) {
      const auto number = from.try_pop(links(spans));
      if (!number) break;
      give_up(spans, batch, column, spans.span_number(*number));
    }
    flush(spans, batch, column);
  }

  void give_up(arena<Traits>& spans, discard_batch<Traits>& batch, std::uint32_t column, span_type& it) {
    release(it.resident_bytes);
    batch.add(it);
    if (batch.is_full()) flush(spans, batch, column);
  }

  void flush(arena<Traits>& spans, discard_batch<Traits>& batch, std::uint32_t column) {
    batch.flush([&](span_type& it) {
      const bool fine = classes::table[it.class_index.load(std::memory_order_relaxed)].fine;
      bare_at(fine, column).push(spans.number_of(it), links(spans));
    });
  }

  unsigned columns_ = 1;
  std::size_t discard_above_ = unlimited;
  std::size_t retained_limit_ = 0;
  alignas(cache_line_bytes) typename Traits::template atomic<std::size_t> retained_{0};
  // The least of it since period_start_, in ms.
  typename Traits::template atomic<std::size_t> least_retained_{0};
  typename Traits::template atomic<std::int64_t> period_start_{0};
  stack stacks_[slot_count][column_limit];
  stack bare_[2][column_limit];  // without memory: coarse, fine
};

}  // namespace heaplab::scalloc
