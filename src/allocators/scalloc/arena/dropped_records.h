#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "allocators/scalloc/spans/span.h"
#include "base/bits.h"
#include "base/narrow.h"
#include "base/os_pages.h"

namespace heaplab::scalloc {

// Fine spans whose records have lost their memory (purged_spans.h). Such a span is as good as one that was
// never carved, except that its epochs must go on: a thread that is late by a tenure must not find the word
// that it has seen before. For the holder of the arena's lock, but for what calls the system.
//
// A map with one bit for each page of records. A child of fork may have lost spans, and takes none twice.
template <class Traits>
class dropped_records {
  using span_type = span<Traits>;
  using platform = typename Traits::platform;

public:
  // Only where no record lies in two pages.
  static constexpr bool are_possible =
      is_power_of_two(sizeof(span_type)) && sizeof(span_type) <= os_pages::smallest_page_bytes;

  static std::uint32_t spans_in_page() {
    return narrow<std::uint32_t>(os_pages::page_bytes() / sizeof(span_type));
  }

  // Called once, before every other function: the arena has room for so many fine spans.
  void set(std::size_t spans) { count_ = lowest_ = spans / spans_in_page() / word_bits + 1; }

  // Called before add(), without the lock, because a system call may be made. False: no memory.
  bool open() {
    if (words_.load(std::memory_order_relaxed) != nullptr) return true;
    auto* const words = static_cast<std::uint64_t*>(platform::allocate(map_bytes(), os_pages::page_bytes()));
    if (words == nullptr) return false;
    // relaxed, here and elsewhere: new pages are zero, and later writes to them are ordered by the lock.
    std::uint64_t* none = nullptr;
    if (!words_.compare_exchange_strong(none, words, std::memory_order_relaxed, std::memory_order_relaxed))
      platform::unmap(words, map_bytes());
    return true;
  }

  void close() {
    if (auto* const words = words_.load(std::memory_order_relaxed)) platform::unmap(words, map_bytes());
    words_.store(nullptr, std::memory_order_relaxed);
  }

  // Both numbers are multiples of spans_in_page(). `epoch` is above the epoch of each of these spans.
  void add(std::uint32_t first, std::uint32_t count, std::uint32_t epoch) {
    epoch_ = std::max(epoch_, epoch);
    std::uint64_t* const words = words_.load(std::memory_order_relaxed);
    for (std::uint32_t page = first / spans_in_page(); page < (first + count) / spans_in_page(); ++page) {
      words[page / word_bits] |= std::uint64_t{1} << page % word_bits;
      lowest_ = std::min<std::size_t>(lowest_, page / word_bits);
    }
  }

  // The number of a span, which is dropped no more. Its record is zero.
  std::optional<std::uint32_t> take() {
    if (next_ % spans_in_page() == 0 && !begin_page()) return std::nullopt;
    return next_++;
  }

  // Above the epochs of all spans that were ever dropped.
  std::uint32_t epoch() const { return epoch_; }

private:
  static constexpr std::size_t word_bits = 64;

  // False: no page is left.
  bool begin_page() {
    std::uint64_t* const words = words_.load(std::memory_order_relaxed);
    while (lowest_ < count_ && words[lowest_] == 0) ++lowest_;
    if (lowest_ >= count_) return false;
    std::uint64_t& word = words[lowest_];
    const std::size_t page = lowest_ * word_bits + static_cast<unsigned>(std::countr_zero(word));
    word &= word - 1;
    next_ = narrow<std::uint32_t>(page) * spans_in_page();
    return true;
  }

  std::size_t map_bytes() const { return align_up(count_ * sizeof(std::uint64_t), os_pages::page_bytes()); }

  typename Traits::template atomic<std::uint64_t*> words_{nullptr};
  std::size_t count_ = 0;   // of words
  std::size_t lowest_ = 0;  // the words before are zero
  // The next span of the page that was taken last, until it is a multiple of spans_in_page().
  std::uint32_t next_ = 0;
  std::uint32_t epoch_ = 0;
};

}  // namespace heaplab::scalloc
