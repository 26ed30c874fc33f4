// Numbers with seven bits in each byte, lowest first; the high bit says that more bytes follow (LEB128).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace heaplab::trace {

using bytes = std::vector<std::uint8_t>;

// Maps small signed numbers to small unsigned ones: 0, -1, 1, -2, 2 ... become 0, 1, 2, 3, 4 ...
constexpr std::uint64_t zigzag(std::uint64_t difference) {
  return (difference << 1) ^ (std::uint64_t{0} - (difference >> 63));
}

constexpr std::uint64_t unzigzag(std::uint64_t number) {
  return (number >> 1) ^ (std::uint64_t{0} - (number & 1));
}

inline void put_varint(bytes& out, std::uint64_t number) {
  while (number >= 0x80) {
    out.push_back(static_cast<std::uint8_t>(number | 0x80));
    number >>= 7;
  }
  out.push_back(static_cast<std::uint8_t>(number));
}

// Reads from the front of a column. Reading beyond the end yields 0 and sets `intact` to false.
class column_reader {
public:
  column_reader() = default;
  explicit column_reader(std::span<const std::uint8_t> column)
      : at_(column.data()), end_(column.data() + column.size()) {}

  std::uint8_t byte() {
    if (at_ == end_) {
      intact_ = false;
      return 0;
    }
    return *at_++;
  }

  std::uint64_t varint() {
    std::uint64_t number = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      const std::uint8_t part = byte();
      if (shift == 63 && part > 1) break;  // more than 64 bits
      number |= static_cast<std::uint64_t>(part & 0x7F) << shift;
      if ((part & 0x80) == 0) return number;
    }
    intact_ = false;
    return 0;
  }

  bool intact() const { return intact_; }
  bool finished() const { return at_ == end_; }

private:
  const std::uint8_t* at_ = nullptr;
  const std::uint8_t* end_ = nullptr;
  bool intact_ = true;
};

}  // namespace heaplab::trace
