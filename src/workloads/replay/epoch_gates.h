#pragma once

#include <cstdint>
#include <span>

#include "base/atomic.h"
#include "recorded/workload_view.h"
#include "workloads/harness/harness.h"
#include "workloads/replay/waiting.h"

namespace heaplab::replay {

// Bytes that a thread has allocated and not freed, less those of others that it freed. Published where
// threads meet; carries nothing but itself.
using balance = atomic<std::int64_t>;

// Where threads wait for each other, so that none runs further ahead than some epochs, and where all of them
// meet for a look at memory.
class epoch_gates {
public:
  static constexpr std::uint64_t most_marks = 400;

  // `drift`: how many epochs a thread may be ahead. `marks`: whether memory is looked at, at about this many
  // epochs as most, at which all threads then meet. They meet at the last epoch in any case, where the live
  // bytes must be those of the recording.
  epoch_gates(const recorded::workload_view& work, harness::measurement& measured, std::uint64_t drift,
              bool marks);

  // What the heap occupies now is not counted later. Before the prologue.
  void take_baseline() { baseline_ = measured_.read_memory().anonymous; }
  balance& balance_of(std::uint32_t stream) { return balances_[stream].value; }

  // Thread side; its balance is up to date.
  void pass(std::uint32_t epoch, wait_counts& counts);

  // After the run.
  void report();

private:
  struct alignas(cache_line_bytes) lonely_balance {
    balance value{0};
  };

  bool all_meet_at(std::uint32_t epoch) const {
    return epoch + 1 == epochs_.size() || (marks_ && epoch % stride_ == 0);
  }
  void meet(std::uint32_t epoch, wait_counts& counts);
  void look(const recorded::epoch& at);

  harness::measurement& measured_;
  std::span<const recorded::epoch> epochs_;
  std::uint64_t drift_;
  bool marks_;
  std::uint64_t stride_;
  probes::off_heap_pages pages_;
  // By epoch: threads that have arrived; one more than there are once a meeting is over.
  std::span<atomic<std::uint64_t>> arrived_;
  std::span<lonely_balance> balances_;
  std::uint64_t baseline_ = 0;
  // Written by the last to arrive at a meeting: fetch_add in meet() hands them on.
  harness::series* live_ = nullptr;
  harness::series* memory_ = nullptr;
  double sum_of_live_ = 0;
  double sum_of_memory_ = 0;
  double most_memory_ = 0;
  std::uint64_t looks_ = 0;
  bool live_as_recorded_ = true;
};

}  // namespace heaplab::replay
