// Compiles the events of one process, in the order of the trace, into a workload file.
//
// Memory is bounded by the number of threads and of blocks that live at a time, not by the length of the
// trace. A replay follows the program in these points:
//   frees by another thread      the block passes through a slot of its own, which the free waits for
//   realloc                      stays a realloc, also in chains and across threads
//   starts and joins of threads  see thread_streams.h
//   epochs                       no thread runs more than a few epochs ahead (workload_format.h)
// On request, the blocks of some call sites live in a heap of their own: what if they lived apart?
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "recorded/thread_streams.h"
#include "recorded/workload_writer.h"
#include "trace/raw/event.h"

namespace heaplab::recorded {

class compiler {
public:
  // `main` is the trace's number of the thread that started the process; `ticks_per_second` > 0 is the rate
  // of the stamps. Throws file_error.
  // Blocks of the call sites `apart` live in a heap of their own.
  compiler(std::string path, std::uint32_t main, double ticks_per_second,
           std::unordered_set<std::uint32_t> apart = {});

  // Adds a block that was live when the recording began. Precondition: an acquisition; no event was added.
  void living(const trace::event& found);
  // Precondition: stamps do not descend, and threads are numbered from 1.
  void add(const trace::event& next);
  // The blocks that live now are listed for a census; where a thread is in the middle of a reallocation,
  // those that live as soon as no thread is.
  void list_survivors(occasion why);
  // The program does nothing until this stamp, so that a replay that keeps pace does nothing either.
  void rest_until(std::uint64_t stamp);
  // Completes the file and returns its header. `lost` is the number of events missing from the trace.
  header finish(std::uint64_t lost = 0);

private:
  struct live_block {
    workload_writer::place_in_file filled_by = 0;  // the operation that puts the pointer into the slot
    std::uint64_t bytes = 0;
    std::uint32_t slot = 0;
    std::uint32_t stream = 0;
    std::uint32_t site = 0;
    std::uint64_t acquired = 0;  // stamp
    std::size_t listed = 0;      // number of the last survivor that is this block, from 1; 0: there is none
    action released_by = action::release;  // the action that frees the block in the epilogue
    std::uint8_t alignment_log2 = 0;

    bool is_apart() const { return released_by == action::release_apart; }
  };
  // A block that a thread has removed from the live blocks and is about to free or move.
  struct taken_block {
    live_block block;
    bool remote = false;
  };
  struct pending {
    taken_block taken;
    trace::event from;
  };

  void acquire(std::uint32_t stream, const trace::event& next);
  void grow(std::uint32_t stream, const trace::event& next);
  void grow_apart(std::uint32_t stream, const trace::event& next, const taken_block& old);
  void release(std::uint32_t stream, const trace::event& next);
  void release_taken(std::uint32_t stream, const taken_block& taken, action how);
  void release_block(std::uint32_t stream, const taken_block& taken, action how);
  void change_threads(const trace::event& next);
  taken_block take(std::uint32_t stream, std::uint64_t address);
  void end_realloc(std::uint32_t thread);

  void allocate(std::uint32_t stream, const trace::event& next);
  void allocate(std::uint32_t stream, const trace::event& next, action how, action released_by);
  void make_room(std::uint32_t stream, std::uint64_t address);
  operation with_size(operation plain, std::uint64_t bytes, std::uint8_t alignment_log2);
  workload_writer::place_in_file emit(std::uint32_t stream, operation added);
  void keep_time(std::uint32_t stream, std::uint64_t stamp);
  void count_live(std::int64_t blocks, std::uint64_t gained, std::uint64_t lost);
  bool epoch_is_due() const;
  void pass_epoch();
  void list_wanted_survivors();
  void move_survivors(const live_block& block);
  std::uint64_t microseconds(std::uint64_t stamp) const;

  workload_writer writer_;
  thread_streams threads_;
  double ticks_per_microsecond_;
  std::unordered_set<std::uint32_t> apart_;
  std::unordered_map<std::uint64_t, live_block> live_;  // by address
  std::unordered_map<std::uint32_t, pending>
      open_reallocs_;                    // by thread of the trace: reallocs whose second half has not come
  std::vector<std::uint64_t> told_us_;   // by stream: the time written last
  std::optional<occasion> wanted_;       // a census that waits until no thread reallocates
  std::vector<std::size_t> same_block_;  // by survivor: number of the one before that is the same block
  header head_;
  std::uint64_t unused_slots_ = 0;
  std::uint64_t live_bytes_ = 0;
  std::uint64_t live_blocks_ = 0;
  std::uint64_t first_stamp_ = 0;
  std::uint64_t last_stamp_ = 0;
  bool begun_ = false;
  std::uint64_t bytes_since_epoch_ = 0;
  std::uint64_t operations_since_epoch_ = 0;
  std::uint64_t operations_ = 0;
};

}  // namespace heaplab::recorded
