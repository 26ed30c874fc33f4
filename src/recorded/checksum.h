#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace heaplab::recorded {

// A checksum that detects every flipped bit and runs at memory bandwidth. The text is read as little-endian
// words of 8 bytes, which go to four lanes in turn: lane = rotate_left((lane ^ word) * odd, 29). The lanes
// are then combined in order, by the same step, into the result. A last word of less than 8 bytes is padded
// with zeros. Each step is a permutation of the lane for every word, so that two texts that differ in one
// word never have the same checksum.
inline std::uint64_t checksum(std::span<const std::byte> text) {
  constexpr std::uint64_t odd = 0x9e3779b97f4a7c15U;
  constexpr auto step = [](std::uint64_t state, std::uint64_t word) {
    return std::rotl((state ^ word) * odd, 29);
  };
  std::array<std::uint64_t, 4> lanes{1, 2, 3, 4};
  std::size_t at = 0;
  const auto word_at = [&](std::size_t offset) {
    std::uint64_t word = 0;
    std::memcpy(&word, text.data() + offset, std::min(sizeof word, text.size() - offset));
    return word;
  };
  for (; text.size() - at >= sizeof lanes; at += sizeof lanes)
    for (std::size_t lane = 0; lane < lanes.size(); ++lane)
      lanes[lane] = step(lanes[lane], word_at(at + lane * sizeof(std::uint64_t)));
  for (std::size_t lane = 0; at < text.size(); ++lane, at += sizeof(std::uint64_t))
    lanes[lane] = step(lanes[lane], word_at(at));
  std::uint64_t result = text.size();
  for (const std::uint64_t lane : lanes) result = step(result, lane);
  return result;
}

}  // namespace heaplab::recorded
