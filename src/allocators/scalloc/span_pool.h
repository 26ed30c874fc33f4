// The span-pool (paper, section 3.3): all free spans, by real span size, each size an array of lock-free
// stacks. A thread puts into and takes from the stack of its own column first, and so meets others only when
// its own stack is empty.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "allocators/scalloc/arena.h"
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
  void open(unsigned columns, std::size_t discard_above) {
    columns_ = std::clamp(columns, 1U, column_limit);
    discard_above_ = discard_above;
  }

  // The caller alone has the span: it is in state free, has no owner, and is in no list.
  void put(arena<Traits>& spans, span_type& it, std::uint32_t column) {
    const size_class& kind = classes::table[it.class_index.load(std::memory_order_relaxed)];
    if (it.resident_bytes > discard_above_ && !try_retain(spans, it.resident_bytes)) discard_from(it, 0);
    stack_at(kind.pool_slot, column).push(spans.number_of(it), links(spans));
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
    return nullptr;
  }

  // Gives the memory of all free spans back. True if there was any.
  bool discard_all(arena<Traits>& spans) {
    bool any = false;
    for (auto& slot : stacks_)
      for (unsigned column = 0; column < columns_; ++column) any |= discard_stack(spans, slot[column]);
    return any;
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

  static auto links(arena<Traits>& spans) {
    return [&spans](std::uint32_t number) -> auto& { return spans.span_number(number).pool_next; };
  }

  stack& stack_at(unsigned slot, std::uint32_t column) { return stacks_[slot][column % columns_]; }

  // Memory from `keep` bytes on goes back to the system. A span that was larger must not keep, in a class of
  // smaller spans, what that class never touches.
  static void discard_from(span_type& it, std::uint32_t keep) {
    if (it.resident_bytes <= keep) return;
    os_pages::discard(it.base + keep, it.resident_bytes - keep);
    it.resident_bytes = keep;
  }

  // An eighth more is no reason for a system call.
  span_type& prepare(span_type& it, const size_class& kind) {
    release(it.resident_bytes);
    if (it.resident_bytes > kind.real_span_bytes + kind.real_span_bytes / 8)
      discard_from(it, kind.real_span_bytes);
    return it;
  }

  // The account of memory kept: only a bound, it publishes nothing, so relaxed throughout. Whoever puts a
  // span enters it, whoever pops it strikes it out.
  bool try_retain([[maybe_unused]] arena<Traits>& spans, [[maybe_unused]] std::size_t bytes) {
    if constexpr (settings.retained_span_bytes > 0) {
      const std::size_t bound = settings.retained_span_bytes + spans.fine_bytes() / 16;
      if (retained_.fetch_add(bytes, std::memory_order_relaxed) + bytes <= bound) return true;
      retained_.fetch_sub(bytes, std::memory_order_relaxed);
    }
    return false;
  }

  void release([[maybe_unused]] std::size_t bytes) {
    if constexpr (settings.retained_span_bytes > 0)
      if (bytes > discard_above_) retained_.fetch_sub(bytes, std::memory_order_relaxed);
  }

  bool discard_stack(arena<Traits>& spans, stack& from) {
    // What is popped here is out of reach until it is put back: another thread may carve a new span
    // meanwhile.
    stack done;
    bool any = false;
    while (const auto number = from.try_pop(links(spans))) {
      span_type& it = spans.span_number(*number);
      any |= it.resident_bytes > 0;
      release(it.resident_bytes);
      discard_from(it, 0);
      done.push(*number, links(spans));
    }
    while (const auto number = done.try_pop(links(spans))) from.push(*number, links(spans));
    return any;
  }

  unsigned columns_ = 1;
  std::size_t discard_above_ = unlimited;
  alignas(cache_line_bytes) typename Traits::template atomic<std::size_t> retained_{0};
  stack stacks_[slot_count][column_limit];
};

}  // namespace heaplab::scalloc
