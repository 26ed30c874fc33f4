#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>

#include "allocators/scalloc/arena/page_map.h"
#include "allocators/scalloc/arena/shrinking_reservation.h"
#include "allocators/scalloc/spans/span.h"
#include "base/bits.h"
#include "base/os_pages.h"

namespace heaplab::scalloc {

// One zone of the arena: spans of one size, carved in order, and their records. Functions that change a zone
// are for the holder of the arena's lock.
template <class Traits>
class arena_zone {
  using span_type = span<Traits>;
  using platform = typename Traits::platform;

public:
  void set(char* record_place, std::size_t record_bytes, char* block_place, growth_direction grows) {
    records_ = reinterpret_cast<span_type*>(record_place);
    record_range_.set(record_place, growth_direction::up);
    record_limit_ = record_bytes;
    block_range_.set(block_place, grows);
  }

  void begin() {
    record_range_.begin();
    block_range_.begin();
  }

  span_type* records() const { return records_; }

  // Bytes of the spans carved so far. acquire pairs with publish: the records of these spans are complete.
  std::size_t carved_bytes() const { return carved_.load(std::memory_order_acquire); }

  // Bytes of blocks that are usable, at least `wanted`, in whole coarse spans.
  std::size_t in_use(std::size_t wanted) const {
    return std::max(wanted, align_up(block_range_.opened(), Traits::config.coarse_span_bytes));
  }

  // Gives up the records but for the first `count` and those already opened; with a `count` of 0, all.
  // Returns their addresses, which are to be unmapped.
  std::span<char> cut_records(std::size_t count) {
    const std::size_t wanted = align_up(count * sizeof(span_type), os_pages::page_bytes());
    const std::size_t kept = count == 0 ? 0 : std::max(wanted, record_range_.opened());
    if (kept >= record_limit_) return {};
    return {reinterpret_cast<char*>(records_) + kept, std::exchange(record_limit_, kept) - kept};
  }

  // The record of the first of the next spans, of `bytes` together; records and spans are usable. Null: no
  // memory, or more than `limit` bytes would be carved.
  span_type* prepare(std::size_t span_bytes, std::size_t bytes, std::size_t limit) {
    const std::size_t used = carved_.load(std::memory_order_relaxed);
    if (used + bytes > limit) return nullptr;
    const std::size_t records = (used + bytes) / span_bytes;
    if (!record_range_.ensure(records * sizeof(span_type), record_limit_)) return nullptr;
    return block_range_.ensure(used + bytes, limit) ? &records_[used / span_bytes] : nullptr;
  }

  // Makes the spans of the last prepare() known. Precondition: the records have the bases of the spans.
  void publish(std::size_t bytes) {
    carved_.store(carved_.load(std::memory_order_relaxed) + bytes, std::memory_order_release);
  }

private:
  span_type* records_ = nullptr;
  typename Traits::template atomic<std::size_t> carved_{0};
  opened_range<Traits> record_range_, block_range_;
  std::size_t record_limit_ = 0;
};

// Fine spans that were carved and not yet handed out. The entries of a run of spans share a line of the page
// map, which threads on other processors should not read. So each run is for the buffers of one column. Of a
// heap without the map a run is one span. For the holder of the arena's lock.
template <class Traits>
class span_runs {
  static constexpr std::uint32_t length = page_map<Traits>::is_used ? page_map<Traits>::entries_in_line : 1;

public:
  // How many spans, from `first` on, end a run.
  static std::uint32_t length_from(std::uint32_t first) { return length - first % length; }

  // The other spans of the run in which `first` was carved are for `column`.
  void add_behind(std::uint32_t first, unsigned column) { next_of(column) = first + 1; }

  std::optional<std::uint32_t> take(unsigned column) { return take_from(next_of(column)); }

  std::optional<std::uint32_t> take_any() {
    const auto found = std::ranges::find_if(next_, is_run);
    return found == next_.end() ? std::nullopt : take_from(*found);
  }

private:
  static bool is_run(std::uint32_t next) { return next % length != 0; }

  static std::optional<std::uint32_t> take_from(std::uint32_t& next) {
    if (!is_run(next)) return std::nullopt;
    return next++;
  }

  std::uint32_t& next_of(unsigned column) { return next_[column % next_.size()]; }

  // The number of the next span for each column; a multiple of `length`: none.
  std::array<std::uint32_t, Traits::config.pool_column_limit> next_{};
};

}  // namespace heaplab::scalloc
