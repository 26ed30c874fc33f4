#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "recorded/slot_numbers.h"
#include "recorded/workload_writer.h"

namespace heaplab::recorded {

// Maps each thread of the trace to the stream that replays it, and records which stream starts and joins
// which.
//
// Every wait of a replay is for an event that comes earlier in the trace, so that threads cannot wait for
// each other in a circle. A thread that has ended is joined by the thread that joined it in the trace, or by
// the next thread that starts another: a replay never has more threads than the program had.
class thread_streams {
public:
  // The first three streams of workload_format.h exist from the beginning. `first` is the trace's number of
  // the main thread.
  thread_streams(workload_writer& writer, std::uint32_t first);

  // The stream of a thread of the trace; starts a stream if the thread has none.
  std::uint32_t of(std::uint32_t thread);
  // Thread `by` has started thread `made`. If `made` already has a stream, because it acted before this
  // event, the main thread has started it.
  void create(std::uint32_t by, std::uint32_t made);
  void join(std::uint32_t by, std::uint32_t ended);
  // After this call only late releases come from the thread; once the thread is joined, the main thread
  // replays them.
  void end(std::uint32_t thread);
  // Stream `by` joins all ended threads.
  void join_ended(std::uint32_t by);
  // Called after the last event: the main thread joins all other threads.
  void end_all();

  // The streams of threads that have not ended: each of them passes every epoch.
  const std::vector<std::uint32_t>& alive() const { return alive_; }
  slot_numbers& slots_of(std::uint32_t stream) { return slots_[stream]; }

private:
  std::uint32_t start(std::uint32_t thread, std::uint32_t by);
  void join_thread(std::uint32_t by, std::uint32_t thread);

  workload_writer& writer_;
  // by thread of the trace; main_thread once the thread is joined
  std::unordered_map<std::uint32_t, std::uint32_t> stream_of_;
  std::vector<std::uint32_t> alive_;
  std::vector<std::uint32_t> ended_;  // ended threads of the trace, not yet joined
  std::vector<slot_numbers> slots_;   // by stream
};

}  // namespace heaplab::recorded
