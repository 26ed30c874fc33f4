#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "recorded/slot_numbers.h"
#include "recorded/workload_writer.h"

namespace heaplab::recorded {

// Which stream does what a thread of the trace did, and who starts and joins whom.
//
// Every wait of a replay is for something that comes earlier in the trace, so threads cannot wait for each
// other in a circle. A thread of the trace that has ended is joined by its joiner, or by whoever starts the
// next thread: there are never more threads than the program had.
class thread_streams {
public:
  // The three streams of workload_format.h exist from the beginning. `first` is the trace's number of the
  // main thread.
  thread_streams(workload_writer& writer, std::uint32_t first);

  // The stream of a thread of the trace; one that has none is started.
  std::uint32_t of(std::uint32_t thread);
  // Thread `by` has started thread `made`. One that did something before is started by the main thread.
  void create(std::uint32_t by, std::uint32_t made);
  void join(std::uint32_t by, std::uint32_t ended);
  // Nothing but late releases come from the thread any more; once it is joined, the main thread does those.
  void end(std::uint32_t thread);
  // Stream `by` joins all that have ended.
  void join_ended(std::uint32_t by);
  // After the last event: the main thread joins all others.
  void end_all();

  // Those that have not ended: every one of them passes an epoch.
  const std::vector<std::uint32_t>& alive() const { return alive_; }
  slot_numbers& slots_of(std::uint32_t stream) { return slots_[stream]; }

private:
  std::uint32_t start(std::uint32_t thread, std::uint32_t by);
  void join_thread(std::uint32_t by, std::uint32_t thread);

  workload_writer& writer_;
  std::unordered_map<std::uint32_t, std::uint32_t> stream_of_;  // by thread of the trace; main once joined
  std::vector<std::uint32_t> alive_;
  std::vector<std::uint32_t> ended_;  // threads of the trace, not yet joined
  std::vector<slot_numbers> slots_;   // by stream
};

}  // namespace heaplab::recorded
