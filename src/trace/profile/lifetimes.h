// How long the blocks of each call site live, in acquisitions of the process, up to its last act: what tells
// a leak from a cache (python/heaplab/advise/growth.py). Of blocks that live then, only a bound is known:
// the acquisitions since theirs, and when they were acquired.
//
// Memory: 384 bytes a call site; 512 a call site with a block that lives for long; at the end 1.3 KiB a call
// site with a block that lives.
#pragma once

#include <array>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "trace/profile/last_act.h"
#include "trace/profile/live_blocks.h"

namespace heaplab::trace {

struct amount {
  std::uint64_t blocks = 0;
  std::uint64_t bytes = 0;

  void add(std::uint64_t size) {
    ++blocks;
    bytes += size;
  }
  void remove(std::uint64_t size) {
    --blocks;
    bytes -= size;
  }
};

class lifetimes {
public:
  static constexpr std::size_t classes =
      40;  // [n]: lifetimes from 2^(n-1) to 2^n - 1 acquisitions; [0]: none
  static constexpr std::size_t cohorts = 64;  // equal parts of the acquisitions before the last act

  struct of_site {
    std::array<std::uint64_t, classes> released{};  // blocks by lifetime
    std::uint64_t live_bytes = 0;
    std::vector<std::uint64_t> course;  // live bytes when each cohort was complete; missing ones are 0
    amount released_last;               // in the last act, of the survivors
  };
  // Blocks of a site that live when the last act begins.
  struct survivors {
    std::array<std::uint64_t, classes> ages{};  // blocks
    std::array<amount, cohorts> by_cohort{};
  };

  explicit lifetimes(const last_act& last) : last_(last) {}

  const last_act& last() const { return last_; }
  void born(const live_block& block);
  void died(const live_block& block);
  // When the last act begins, or at the end if there is none.
  void begin_last_act(const block_lives& blocks);

  const std::vector<of_site>& sites() const { return sites_; }  // by number
  const std::unordered_map<std::uint32_t, survivors>& surviving() const { return surviving_; }
  // For each complete cohort, the stamp of the acquisition that completed it.
  const std::vector<std::uint64_t>& stamps() const { return stamps_; }

private:
  std::size_t cohort_of(std::uint64_t number) const;
  void complete_cohorts(const live_block& next);
  of_site& site(std::uint32_t number);

  last_act last_;
  bool in_last_act_ = false;
  std::uint64_t acquisitions_ = 0;
  std::vector<of_site> sites_{1};
  std::unordered_map<std::uint32_t, survivors> surviving_;
  std::vector<std::uint64_t> stamps_;
};

}  // namespace heaplab::trace
