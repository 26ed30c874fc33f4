// The events of one process in their global order: a frame in memory at a time.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "trace/event.h"
#include "trace/trace_file.h"

namespace heaplab::trace {

class event_stream {
public:
  // `process` is a place in file.processes(). `file` outlives this.
  event_stream(trace_file& file, std::uint32_t process);

  // False at the end.
  bool next(event& e) {
    if (at_ == events_.size() && next_frame().empty()) return false;
    e = events_[at_++];
    return true;
  }

  // The events of the next intact frame; empty at the end. Not to be mixed with next().
  std::span<const event> next_frame();

  // Events that frames passed so far should have held and did not; exact but for the end of a file cut off.
  std::uint64_t lost() const { return lost_; }
  // Number of the first event of the frame, from 0.
  std::uint64_t first() const { return expected_ - events_.size(); }

private:
  trace_file& file_;
  std::uint32_t process_;
  std::size_t frame_ = 0;
  std::vector<event> events_;
  std::size_t at_ = 0;
  std::uint64_t expected_ = 0;  // number of the next event if none is missing
  std::uint64_t lost_ = 0;
  bytes payload_;
};

// The call sites of a process: site n is frames_of(n), code addresses, the innermost first.
class site_table {
public:
  site_table(trace_file& file, std::uint32_t process);
  std::size_t size() const { return starts_.size() - 1; }              // sites have the numbers 1 to size()
  std::span<const std::uint64_t> frames_of(std::uint32_t site) const;  // empty where unknown

private:
  bool add_frame(const index_entry& frame, const bytes& payload);

  std::vector<std::uint64_t> addresses_;
  std::vector<std::size_t> starts_{0};  // site n: [n - 1] to [n]
};

}  // namespace heaplab::trace
