// Writes a trace file (docs/trace-format.md): one process after another, and the events of each in the order
// of their stamps. Memory: the events of one frame, and 40 B for each frame written.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/assertion.h"
#include "trace/file/event_rules.h"
#include "trace/file/file_descriptor.h"
#include "trace/file/frame.h"
#include "trace/file/properties.h"
#include "trace/file/varint.h"
#include "trace/raw/event.h"

namespace heaplab::trace {

// Every function throws trace_error if the file cannot be written.
class trace_writer {
public:
  static constexpr std::size_t frame_events = std::size_t{1} << 16;

  // Creates or replaces the file.
  explicit trace_writer(const std::string& path);
  ~trace_writer();
  trace_writer(const trace_writer&) = delete;
  trace_writer& operator=(const trace_writer&) = delete;

  // Ends the process before, begins another and returns its number, from 0.
  std::uint32_t begin_process(const properties& of);

  // Returns the number of a call site, given as code addresses, the innermost first. Precondition: a process
  // has begun.
  std::uint32_t add_site(std::span<const std::uint64_t> frames);

  // Precondition: a process has begun; the event may follow those before (event_rules.h).
  void add(const event& e) {
    HEAPLAB_ASSERT(processes_ != 0 && rules_.may_follow(e, sites_before_ + sites_here_));
    rules_.see(e);
    events_.push_back(e);
    if (events_.size() == frame_events) flush();
  }

  // Blocks that lived when the recording began, as acquisitions by thread 0 in the order of their addresses.
  // Precondition: no event was added.
  void add_lived(std::span<const event> blocks);

  // Lines on the mapped files of the process.
  void add_modules(std::string_view lines);
  // Lines on the build-ids of modules.
  void add_build_ids(std::string_view lines);
  // Lines on code addresses: where names are known and modules are not.
  void add_names(std::string_view lines);

  // Writes the last frame of the process.
  void end_process(const properties& summary);

  // Writes the index. The file is complete only then.
  void close();

private:
  void flush();
  void flush_sites();
  void put_frame(frame_type type, std::uint32_t count, std::uint64_t first, std::uint64_t first_stamp,
                 std::span<const std::uint8_t> payload);
  void put(std::span<const std::uint8_t> data);

  std::string path_;
  file_descriptor file_;
  std::uint64_t offset_ = 0;
  std::vector<index_entry> index_;
  event_rules rules_;
  std::vector<event> events_;
  std::uint64_t events_before_ = 0;  // events of the process in frames already written
  bytes sites_;
  std::uint32_t sites_here_ = 0;
  std::uint32_t sites_before_ = 0;
  std::uint64_t site_address_ = 0;
  std::uint32_t processes_ = 0;
  bytes packed_;
  struct compressor;
  compressor* compressor_;
};

}  // namespace heaplab::trace
