// The addresses at which a process has or had blocks: what lies elsewhere, its malloc did not hand out.
#pragma once

#include <algorithm>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <iterator>
#include <map>
#include <string>

namespace heaplab::trace {

// Ranges of whole units, merged where they touch, so that a heap of many blocks is a few ranges. A unit is
// larger than what allocators keep beside blocks, such as headers, and smaller than what programs map.
class block_ranges {
public:
  static constexpr std::uint64_t unit = std::uint64_t{1} << 16;

  // All units that the block touches.
  void add(std::uint64_t address, std::uint64_t size) {
    std::uint64_t begin = address / unit;
    std::uint64_t end = (address + std::max<std::uint64_t>(size, 1) - 1) / unit + 1;
    auto after = ranges_.upper_bound(begin);
    if (after != ranges_.begin()) {
      const auto before = std::prev(after);
      if (before->second >= end) return;
      if (before->second >= begin) {
        begin = before->first;
        after = before;
      }
    }
    while (after != ranges_.end() && after->first <= end) {
      end = std::max(end, after->second);
      after = ranges_.erase(after);
    }
    ranges_.emplace_hint(after, begin, end);
  }

  // The units that the block fills: others may lie in the rest.
  void remove(std::uint64_t address, std::uint64_t size) {
    const std::uint64_t begin = (address + unit - 1) / unit, end = (address + size) / unit;
    if (begin >= end) return;
    auto at = ranges_.lower_bound(begin);
    if (at != ranges_.begin() && std::prev(at)->second > begin) --at;
    while (at != ranges_.end() && at->first < end) {
      const auto [first, last] = *at;
      at = ranges_.erase(at);
      if (first < begin) ranges_.emplace(first, begin);
      if (last > end) ranges_.emplace(end, last);
    }
  }

  // "START-END START-END", in hexadecimal.
  std::string text() const {
    std::string out;
    for (const auto& [begin, end] : ranges_) {
      char range[2 * 16 + 3];
      std::snprintf(range, sizeof range, "%s%" PRIx64 "-%" PRIx64, out.empty() ? "" : " ", begin * unit,
                    end * unit);
      out += range;
    }
    return out;
  }

private:
  std::map<std::uint64_t, std::uint64_t> ranges_;  // end by begin, in units
};

}  // namespace heaplab::trace
