#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>

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

  // How many bytes are reserved.
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

  // What is reserved.
  parts all() const {
    const std::size_t last = has_gap() ? last_ : 0;
    return {std::span(start_, first_), std::span(start_ + bytes_ - last, last)};
  }

private:
  bool has_gap() const { return first_ + last_ < bytes_; }

  char* start_ = nullptr;
  std::size_t bytes_ = 0, first_ = 0, last_ = 0;
};

}  // namespace heaplab::scalloc
