// Where a process had blocks at the moments at which its memory was sampled from outside.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "trace/finish/block_ranges.h"
#include "trace/raw/event.h"

namespace heaplab::trace {

// A freed block still counts: its memory is retained, or other blocks lie in it. Blocks that glibc maps one
// by one do not: glibc unmaps them at once, and what the program then maps itself may lie at the same
// addresses.
class ranges_at_moments {
public:
  struct moment {
    std::uint64_t stamp;
    std::uint64_t monotonic_ns;
  };

  // Ascending moments.
  explicit ranges_at_moments(std::vector<moment> moments) : moments_(std::move(moments)) {}

  void lived(std::uint64_t address, std::uint64_t size) { acquire(address, size); }

  void see(const event& e) {
    if (next_ == moments_.size()) return;
    while (next_ < moments_.size() && moments_[next_].stamp < e.stamp) note();
    if (is_acquisition(e.kind) && e.address != 0)
      acquire(e.address, e.size);
    else if (is_release(e.kind))
      release(e.address);
  }

  // A line for each moment: "NS START-END START-END".
  std::string text() {
    while (next_ < moments_.size()) note();
    return text_;
  }

private:
  static constexpr std::uint64_t smallest_mapped = 128
                                                   << 10;  // glibc's threshold grows, but never falls below

  // A block that glibc maps begins behind a header of 16 bytes at the begin of a page.
  static bool may_be_mapped(std::uint64_t address, std::uint64_t size) {
    return size >= smallest_mapped && address % 4096 == 16;
  }

  void acquire(std::uint64_t address, std::uint64_t size) {
    ranges_.add(address, size);
    if (may_be_mapped(address, size)) mapped_[address] = size;
  }

  void release(std::uint64_t address) {
    if (const auto found = mapped_.find(address); found != mapped_.end()) {
      ranges_.remove(address, found->second);
      mapped_.erase(found);
    }
  }

  void note() { text_ += std::to_string(moments_[next_++].monotonic_ns) + ' ' + ranges_.text() + '\n'; }

  std::vector<moment> moments_;
  std::size_t next_ = 0;
  block_ranges ranges_;
  std::unordered_map<std::uint64_t, std::uint64_t> mapped_;  // size by address
  std::string text_;
};

}  // namespace heaplab::trace
