#pragma once

#include <cstdint>
#include <span>

#include "base/atomic.h"
#include "recorded/workload_view.h"
#include "workloads/harness/harness.h"
#include "workloads/replay/census_taker.h"
#include "workloads/replay/waiting.h"

namespace heaplab::replay {

// Bytes that a thread has allocated, less the bytes that it has freed, whoever allocated them. Published by
// the arrivals at an epoch; publishes nothing itself.
using balance = atomic<std::int64_t>;

// Keeps the threads of a replay together: no thread runs more than `drift` epochs ahead of the slowest, and
// at some epochs all threads meet, so that memory can be examined.
class epoch_gates {
public:
  static constexpr std::uint64_t most_marks = 400;

  // `drift`: how many epochs a thread may be ahead. `marks`: whether all threads meet at up to about
  // `most_marks` epochs and memory is examined there. The threads always meet at the last epoch, where the
  // live bytes must equal those of the recording.
  // `census` takes each census of the workload; null: none is taken.
  epoch_gates(const recorded::workload_view& work, harness::measurement& measured, std::uint64_t drift,
              bool marks, census_taker* census = nullptr);

  // Memory that the heap occupies now is subtracted from later readings. Called before the prologue.
  // Seconds that censuses took so far. All threads stand still meanwhile, so that none reads this then.
  double stood_still() const { return stood_still_; }
  void take_baseline() { baseline_ = measured_.read_memory().anonymous; }
  balance& balance_of(std::uint32_t stream) { return balances_[stream].value; }

  // Called by a thread whose balance is up to date.
  void pass(std::uint32_t epoch, wait_counts& counts);

  // Called after the run.
  void report();

private:
  struct alignas(cache_line_bytes) lonely_balance {
    balance value{0};
  };

  bool all_meet_at(std::uint32_t epoch) const {
    return epoch + 1 == epochs_.size() || (marks_ && epoch % stride_ == 0) ||
           (census_ != nullptr && census_->is_at(epoch));
  }
  void meet(std::uint32_t epoch, wait_counts& counts);
  void look(std::uint32_t epoch);
  std::uint64_t memory_now() const;

  harness::measurement& measured_;
  std::span<const recorded::epoch> epochs_;
  std::uint64_t drift_;
  bool marks_;
  census_taker* census_;
  double stood_still_ = 0;
  std::uint64_t stride_;
  probes::off_heap_pages pages_;
  // By epoch: the number of threads that have arrived, plus one when a meeting is over.
  std::span<atomic<std::uint64_t>> arrived_;
  std::span<lonely_balance> balances_;
  std::uint64_t baseline_ = 0;
  // Written by the last thread to arrive at a meeting. The fetch_add in meet() publishes these members to the
  // next one.
  harness::series* live_ = nullptr;
  harness::series* memory_ = nullptr;
  double sum_of_live_ = 0;
  double sum_of_memory_ = 0;
  double most_memory_ = 0;
  std::uint64_t looks_ = 0;
  bool live_as_recorded_ = true;
};

}  // namespace heaplab::replay
