#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "allocators/scalloc/policy/config.h"
#include "base/bits.h"
#include "base/os_pages.h"

namespace heaplab::scalloc {

// Reserved address space that is used from both ends, and of which a part in the middle, the gap, may be
// given back. For the holder of a lock.
class shrinking_reservation {
public:
  using parts = std::array<std::span<char>, 2>;

  void set(char* start, std::size_t bytes) {
    start_ = start;
    bytes_ = first_ = last_ = bytes;
  }

  // How many bytes are reserved from the beginning on, and before the end; all, where there is no gap.
  std::size_t first() const { return first_; }
  std::size_t last() const { return last_; }

  std::size_t bytes() const { return has_gap() ? first_ + last_ : bytes_; }

  // Gives up all but the first and the last so many bytes, or as many as there still are. Returns what is to
  // be unmapped: nothing, if there was no more.
  parts keep(std::size_t first, std::size_t last) {
    first = std::min(first, first_);
    last = std::min(last, last_);
    if (first + last >= bytes()) return {};
    const std::size_t begin = has_gap() ? first_ : bytes_ - last;
    const std::size_t end = has_gap() ? bytes_ - last_ : begin;
    first_ = first;
    last_ = last;
    return {std::span(start_ + first, begin - first), std::span(start_ + end, bytes_ - last - end)};
  }

  parts all() const {
    const std::size_t last = has_gap() ? last_ : 0;
    return {std::span(start_, first_), std::span(start_ + bytes_ - last, last)};
  }

private:
  bool has_gap() const { return first_ + last_ < bytes_; }

  char* start_ = nullptr;
  std::size_t bytes_ = 0, first_ = 0, last_ = 0;
};

enum class growth_direction : std::uint8_t { up, down };

// A part of the arena's reservation that is readable and writable from its beginning up to some point. For
// the holder of a lock.
template <class Traits>
class opened_range {
  using platform = typename Traits::platform;
  // A range grows by as many bytes as it has already, within these bounds. Larger steps mean fewer system
  // calls, and more memory that counts as used in overcommit mode 2 or under mlockall.
  static constexpr std::size_t least_step = 4 * mib, most_step = 4 * gib;

public:
  // `start` is where the range begins, or where it ends if it grows down.
  void set(char* start, growth_direction grows) {
    start_ = start;
    grows_ = grows;
  }

  // Makes the first `bytes` <= limit usable; false: the system refuses. Opens more than is asked for, so that
  // a range of n bytes takes log n system calls.
  bool ensure(std::size_t bytes, std::size_t limit) {
    if (bytes <= opened_) return true;
    const std::size_t step = std::clamp(opened_, least_step, most_step);
    const std::size_t generous = std::min(limit, align_up(std::max(opened_ + step, bytes), least_step));
    return open_up_to(generous) || open_up_to(std::min(limit, align_up(bytes, os_pages::page_bytes())));
  }

  // Opens the first page. To open more then moves the border between two mappings of the kernel, which
  // succeeds even where the process may have no further mapping.
  bool begin() { return opened_ > 0 || open_up_to(os_pages::page_bytes()); }

  std::size_t opened() const { return opened_; }

private:
  bool open_up_to(std::size_t bytes) {
    const std::size_t added = bytes - opened_;
    char* const part = grows_ == growth_direction::up ? start_ + opened_ : start_ - bytes;
    if (!platform::make_accessible(part, added)) return false;
    opened_ = bytes;
    return true;
  }

  char* start_ = nullptr;
  growth_direction grows_ = growth_direction::up;
  std::size_t opened_ = 0;
};

}  // namespace heaplab::scalloc
