#include "workloads/replay/epoch_gates.h"

#include <algorithm>

namespace heaplab::replay {

namespace {

using probes::off_heap_pages;

std::size_t bytes_of(const recorded::workload_view& work, std::size_t each_balance) {
  return off_heap_pages::needed<std::uint64_t>(work.epochs().size()) +
         off_heap_pages::needed<std::byte>((work.streams().size() + 1) * each_balance);
}

}  // namespace

epoch_gates::epoch_gates(const recorded::workload_view& work, harness::measurement& measured,
                         std::uint64_t drift, bool marks, census_taker* census)
    : measured_(measured),
      epochs_(work.epochs()),
      drift_(drift),
      marks_(marks),
      census_(census),
      stride_(std::max<std::uint64_t>(1, (epochs_.size() + most_marks - 1) / most_marks)),
      pages_(harness::take_pages(bytes_of(work, sizeof(lonely_balance)))),
      arrived_(pages_.array<atomic<std::uint64_t>>(epochs_.size())),
      balances_(pages_.array<lonely_balance>(work.streams().size())) {
  if (!marks) return;
  live_ = &measured.add_series("live", "B", most_marks + 1);
  memory_ = &measured.add_series("memory", "B", most_marks + 1);
}

void epoch_gates::pass(std::uint32_t epoch, wait_counts& counts) {
  if (all_meet_at(epoch)) return meet(epoch, counts);
  // release pairs with the acquire below: a thread that may go on sees everything that the awaited threads
  // did before they arrived.
  arrived_[epoch].fetch_add(1, std::memory_order_release);
  if (epoch < drift_) return;
  const std::uint64_t awaited = epoch - drift_;
  wait_until_ready(counts, [&] {
    // acquire pairs with the fetch_add of every thread that arrived there.
    return arrived_[awaited].load(std::memory_order_acquire) >= epochs_[awaited].threads;
  });
}

void epoch_gates::meet(std::uint32_t epoch, wait_counts& counts) {
  const recorded::epoch& at = epochs_[epoch];
  // release publishes this thread's balance; acquire makes the balances of all others visible to the last
  // thread.
  if (arrived_[epoch].fetch_add(1, std::memory_order_acq_rel) + 1 == at.threads) {
    look(epoch);
    // release pairs with the acquire below: the next thread to call look() sees what this call wrote.
    arrived_[epoch].fetch_add(1, std::memory_order_release);
  } else {
    wait_until_ready(counts, [&] {
      // acquire pairs with the fetch_add after look().
      return arrived_[epoch].load(std::memory_order_acquire) > at.threads;
    });
  }
}

// All threads stand at the epoch, so that the sum of their balances is the number of live bytes.
void epoch_gates::look(std::uint32_t epoch) {
  const recorded::epoch& at = epochs_[epoch];
  std::int64_t live = 0;
  // relaxed: the arrivals have published the balances.
  for (lonely_balance& own : balances_) live += own.value.load(std::memory_order_relaxed);
  live_as_recorded_ = live_as_recorded_ && live == static_cast<std::int64_t>(at.live_bytes);
  if (census_ != nullptr && census_->is_at(epoch)) {
    const double begin = measured_.elapsed();
    census_->prepare();
    census_->take(epoch, memory_now());
    stood_still_ += measured_.elapsed() - begin;
  }
  if (!marks_) return;
  const double time = measured_.elapsed();
  const auto memory = static_cast<double>(memory_now());
  live_->add(time, static_cast<double>(live));
  memory_->add(time, memory);
  sum_of_live_ += static_cast<double>(live);
  sum_of_memory_ += memory;
  most_memory_ = std::max(most_memory_, memory);
  ++looks_;
}

std::uint64_t epoch_gates::memory_now() const {
  const std::uint64_t anonymous = measured_.read_memory().anonymous;
  return anonymous - std::min(anonymous, baseline_);
}

void epoch_gates::report() {
  measured_.verify(live_as_recorded_, "the same bytes live at every mark as in the recording");
  if (looks_ == 0) return;
  measured_.add_metric("average_memory", sum_of_memory_ / static_cast<double>(looks_), "B");
  measured_.add_metric("average_live_bytes", sum_of_live_ / static_cast<double>(looks_), "B");
  measured_.add_metric("most_memory", most_memory_, "B");
  if (sum_of_live_ > 0) measured_.add_metric("memory_per_live", sum_of_memory_ / sum_of_live_, "1");
  measured_.add_metric("marks", static_cast<double>(looks_), "1");
}

}  // namespace heaplab::replay
