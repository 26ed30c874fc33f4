// The events of one process in their global order; one frame is in memory at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "trace/file/event_rules.h"
#include "trace/file/trace_file.h"
#include "trace/raw/event.h"

namespace heaplab::trace {

class event_stream {
public:
  // `process` is an index into file.processes(). `file` must outlive this object.
  event_stream(trace_file& file, std::uint32_t process);

  // False at the end.
  bool next(event& e) {
    if (at_ == events_.size() && next_frame().empty()) return false;
    e = events_[at_++];
    return true;
  }

  // The events of the next frame that is intact and obeys event_rules; empty at the end. Not to be mixed with
  // next().
  std::span<const event> next_frame();

  // The number of events missing between the frames read so far. Exact, except at the end of a truncated
  // file.
  std::uint64_t lost() const { return lost_; }
  // Number of the first event of the frame, from 0.
  std::uint64_t first() const { return expected_ - events_.size(); }

private:
  bool read(const index_entry& frame);
  void compare_with_summary();

  trace_file& file_;
  std::uint32_t process_;
  std::size_t frame_ = 0;
  std::uint64_t sites_ = 0;     // known so far
  std::uint64_t numbered_ = 0;  // events of the frames so far, also of those that are lost
  event_rules rules_;
  std::uint64_t acquisitions_ = 0;
  std::uint64_t failed_ = 0;
  std::uint64_t releases_ = 0;
  bool at_end_ = false;
  std::vector<event> events_;
  std::size_t at_ = 0;
  std::uint64_t expected_ = 0;  // number of the next event, if none is missing
  std::uint64_t lost_ = 0;
  bytes payload_;
};

// Calls `visit` with each block that lived when the recording of the process began, as an acquisition by
// thread 0.
void each_lived(trace_file& file, std::uint32_t process, const std::function<void(const event&)>& visit);

// The call sites of a process. Site n consists of the code addresses frames_of(n), the innermost first.
class site_table {
public:
  site_table(trace_file& file, std::uint32_t process);
  std::size_t size() const { return starts_.size() - 1; }              // the sites are 1 to size()
  std::span<const std::uint64_t> frames_of(std::uint32_t site) const;  // empty if unknown

private:
  bool add_frame(const index_entry& frame, const bytes& payload);

  std::vector<std::uint64_t> addresses_;
  std::vector<std::size_t> starts_{0};  // site n: addresses_ from starts_[n - 1] to starts_[n]
};

}  // namespace heaplab::trace
