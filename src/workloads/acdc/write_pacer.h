#pragma once

#include <cmath>
#include <cstdint>

namespace heaplab::acdc {

// Selects a given share of all objects for writing, spread as evenly as possible.
class write_pacer {
public:
  explicit write_pacer(double percent)
      : step_(static_cast<std::uint64_t>(std::llround(percent / 100 * unit))) {}

  // True if this object is to be written.
  bool next() {
    sum_ += step_;
    const std::uint64_t write = sum_ >> fraction_bits;
    sum_ &= unit - 1;
    ++accessed_;
    written_ += write;
    return write != 0;
  }

  std::uint64_t accessed() const { return accessed_; }
  std::uint64_t written() const { return written_; }

private:
  static constexpr unsigned fraction_bits = 32;
  static constexpr std::uint64_t unit = std::uint64_t{1} << fraction_bits;

  std::uint64_t step_;
  std::uint64_t sum_ = 0;
  std::uint64_t accessed_ = 0;
  std::uint64_t written_ = 0;
};

}  // namespace heaplab::acdc
