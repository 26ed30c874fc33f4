// What published benchmarks do to their own figures, as a heap that does the same on purpose: the difference
// to the plain calls is the size of the error.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "base/atomic.h"
#include "probes/tick_clock.h"
#include "workloads/harness/heap_calls.h"

namespace heaplab::harness {

enum class pitfall {
  none,
  timed_calls,    // the clock is read before and after every call, not once before and after all
  ordered_count,  // threads count their calls in one sequentially consistent counter
  shared_line,    // each thread has a counter of its own, on a cache line that it shares with seven others
};

// The counters of all threads, in one place for the pitfalls that share them.
struct call_counters {
  static constexpr std::size_t line = 64;
  static constexpr unsigned most_threads = 1024;

  alignas(line) atomic<std::uint64_t> of_all{0};
  alignas(line) std::array<atomic<std::uint64_t>, most_threads> of_thread{};

  // Relaxed: read after the threads have been joined.
  std::uint64_t counted() const {
    std::uint64_t sum = of_all.load(std::memory_order_relaxed);
    for (const auto& count : of_thread) sum += count.load(std::memory_order_relaxed);
    return sum;
  }
};

// Like plain_heap, with one pitfall in every call. One thread uses it.
class hampered_heap : public wrapped_heap<hampered_heap> {
public:
  hampered_heap(pitfall which, call_counters& counters, unsigned thread)
      : which_(which),
        counters_(&counters),
        own_(&counters.of_thread[thread % call_counters::most_threads]) {}
  hampered_heap(const hampered_heap&) = delete;
  hampered_heap& operator=(const hampered_heap&) = delete;
  // Relaxed: read after the threads have been joined.
  ~hampered_heap() { counters_->of_all.fetch_add(timed_, std::memory_order_relaxed); }

  template <class Call>
  HEAPLAB_FAST_PATH void* allocation(Call call) {
    const std::uint64_t begin = before();
    void* const block = call();
    after(begin);
    return block;
  }
  template <class Call>
  HEAPLAB_FAST_PATH void releasing(Call call) {
    const std::uint64_t begin = before();
    call();
    after(begin);
  }

private:
  HEAPLAB_FAST_PATH std::uint64_t before() const {
    return which_ == pitfall::timed_calls ? probes::read_ticks() : 0;
  }
  HEAPLAB_FAST_PATH void after(std::uint64_t begin) {
    switch (which_) {
      case pitfall::none:
        break;
      case pitfall::timed_calls:
        timed_ += std::max(probes::read_ticks() - begin, std::uint64_t{1});
        break;
      case pitfall::ordered_count:
        // Sequentially consistent on purpose: this order, on one line for all threads, is the pitfall.
        counters_->of_all.fetch_add(1, std::memory_order_seq_cst);
        break;
      case pitfall::shared_line:
        // Relaxed: this thread alone writes; its neighbours on the line are the pitfall.
        own_->store(own_->load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
        break;
    }
  }

  pitfall which_;
  call_counters* counters_;
  atomic<std::uint64_t>* own_;
  std::uint64_t timed_ = 0;  // ticks inside the calls, with what the stamps take
};

}  // namespace heaplab::harness
