// What one process did with memory, gathered in one pass over its events: over time, by size and lifetime, by
// thread, by call site, by reallocation.
//
// Memory: 80 bytes a block that lives (while a table grows, 128), 136 bytes a call site and what lifetimes.h
// says, 80 bytes a call site of each thread, 1024 stretches of time.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "trace/profile/lifetimes.h"
#include "trace/profile/live_blocks.h"
#include "trace/profile/time_series.h"
#include "trace/raw/event.h"

namespace heaplab::trace {

struct site_profile {
  amount acquired;
  amount live;
  amount most;                    // live at a time, by bytes
  amount at_peak;                 // live when the process had most bytes
  std::uint64_t lifetimes = 0;    // ticks, summed over released blocks; of those that live, up to the end
  std::uint64_t remote = 0;       // blocks that another thread released
  std::uint64_t growths = 0;      // blocks that came of a reallocation
  std::uint64_t bytes_moved = 0;  // by reallocations, at least: the smaller of both sizes
  std::uint64_t seen_peak = 0;    // number of the peak that `at_peak` belongs to
};

// The blocks that one thread acquired, of all blocks or of those of a call site.
struct thread_share {
  amount acquired;
  std::uint64_t live_bytes = 0;
  std::uint64_t most_bytes = 0;  // live at a time

  void add(std::uint64_t size) {
    acquired.add(size);
    live_bytes += size;
    most_bytes = std::max(most_bytes, live_bytes);
  }
};

struct growth_profile {
  std::uint64_t calls = 0;        // reallocations that got a block for another
  std::uint64_t moved = 0;        // to another address
  std::uint64_t bytes_moved = 0;  // at least: the smaller of both sizes
  std::uint64_t shrank = 0;
  // Blocks by the number of reallocations they went through: [n] has those of 2^(n-1) to 2^n - 1; [0]: none.
  std::array<std::uint64_t, 33> chains{};
};

class profile {
public:
  static constexpr std::size_t size_classes = 65;      // [n]: sizes above 2^(n-1), up to 2^n
  static constexpr std::size_t lifetime_classes = 12;  // the last: blocks that live at the end
  using lives = std::array<std::array<amount, lifetime_classes>, size_classes>;
  using matrix = std::unordered_map<std::uint64_t, amount>;
  using shares = std::unordered_map<std::uint64_t, thread_share>;
  using acquirers = std::unordered_map<std::uint32_t, thread_share>;

  // `ticks_per_second` 0: stamps are an order, and lifetimes are numbers of events.
  explicit profile(std::uint64_t ticks_per_second, const last_act& last = {});

  // Acquired the blocks that lived before the first event, and released those that live at the end.
  static constexpr std::uint32_t nobody = 0;

  // A block that lived before the first event: acquired by nobody when the recording began.
  void lived(const event& block) { follow(block); }
  // Precondition: not called after end().
  void see(const event& e);
  // Counts what lives at the end.
  void end();

  const time_series& series() const { return series_; }
  const lives& by_life() const { return lives_; }
  // From 1; those of sites without blocks are all zero.
  const std::vector<site_profile>& sites() const { return sites_; }
  const growth_profile& growths() const { return growths_; }
  const std::array<std::uint64_t, 256>& kinds() const { return kinds_; }
  // Blocks by the threads, or nobody, that acquired and released them.
  const matrix& threads() const { return threads_; }
  // By the thread, or nobody, that acquired the blocks, and the call site.
  const shares& by_thread_and_site() const { return shares_; }
  // By the thread, or nobody, that acquired the blocks.
  const acquirers& by_thread() const { return acquirers_; }
  // The halves of the 64-bit keys.
  static std::uint32_t acquirer(std::uint64_t key) { return static_cast<std::uint32_t>(key >> 32); }
  static std::uint32_t releaser(std::uint64_t key) { return static_cast<std::uint32_t>(key); }
  static std::uint32_t site_of(std::uint64_t key) { return static_cast<std::uint32_t>(key); }
  const lifetimes& lifetimes_by_site() const { return lifetimes_; }
  std::uint64_t peak_stamp() const { return peak_stamp_; }
  const amount& peak() const { return peak_; }  // when the process had most bytes
  std::uint64_t last_stamp() const { return last_stamp_; }
  // Ticks below which a block belongs to lifetime class `n`.
  std::uint64_t lifetime_bound(std::size_t n) const { return bounds_[n]; }

private:
  stretch& follow(const event& e);
  void born(const live_block& block, const live_block* from);
  void grew(const live_block& block, const live_block& from);
  void died(const live_block& block, const event* release);
  void count_life(const live_block& block, std::uint64_t ticks, std::size_t life, std::uint32_t releaser);
  site_profile& site(std::uint32_t number);

  time_series series_;
  lives lives_{};
  std::vector<site_profile> sites_{1};
  growth_profile growths_;
  std::array<std::uint64_t, 256> kinds_{};
  matrix threads_;
  shares shares_;
  acquirers acquirers_;
  block_lives blocks_;
  lifetimes lifetimes_;
  amount now_;
  amount peak_;
  std::uint64_t peak_stamp_ = 0;
  std::uint64_t peaks_ = 0;  // so far
  std::uint64_t last_stamp_ = 0;
  std::array<std::uint64_t, lifetime_classes - 2> bounds_{};
};

}  // namespace heaplab::trace
