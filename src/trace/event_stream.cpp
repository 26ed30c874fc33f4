#include "trace/event_stream.h"

#include "trace/event_columns.h"

namespace heaplab::trace {

namespace {

bool is_type(const index_entry& frame, frame_type type) {
  return frame.type == static_cast<std::uint16_t>(type);
}

}  // namespace

event_stream::event_stream(trace_file& file, std::uint32_t process) : file_(file), process_(process) {}

std::span<const event> event_stream::next_frame() {
  const trace_file::process_part& of = file_.processes()[process_];
  events_.clear();
  at_ = 0;
  while (frame_ < of.frames.size()) {
    const index_entry& frame = of.frames[frame_++];
    if (!is_type(frame, frame_type::events) || !file_.read(frame, payload_) ||
        !decode_events(payload_, frame.count, frame.first_stamp, events_)) {
      events_.clear();
      continue;
    }
    if (frame.first > expected_) lost_ += frame.first - expected_;
    expected_ = frame.first + frame.count;
    return events_;
  }
  const std::uint64_t whole = of.summary.number("events");
  if (whole > expected_) {
    lost_ += whole - expected_;
    expected_ = whole;
  }
  return {};
}

void each_lived(trace_file& file, std::uint32_t process, const std::function<void(const event&)>& visit) {
  bytes payload;
  std::vector<event> blocks;
  const std::vector<index_entry>& frames = file.processes()[process].frames;
  for (const index_entry& frame : frames) {
    if (!is_type(frame, frame_type::lived) || !file.read(frame, payload) ||
        !decode_events(payload, frame.count, frame.first_stamp, blocks))
      continue;
    for (const event& block : blocks) visit(block);
  }
}

site_table::site_table(trace_file& file, std::uint32_t process) {
  bytes payload;
  const std::vector<index_entry>& frames = file.processes()[process].frames;
  for (const index_entry& frame : frames)
    if (is_type(frame, frame_type::sites) && file.read(frame, payload)) add_frame(frame, payload);
}

bool site_table::add_frame(const index_entry& frame, const bytes& payload) {
  // The sites of a lost frame keep their numbers but have no code addresses.
  if (frame.first > (std::uint64_t{1} << 32) || frame.first < starts_.size()) return false;
  while (starts_.size() < frame.first) starts_.push_back(addresses_.size());
  column_reader in(payload);
  std::uint64_t address = 0;
  for (std::uint32_t site = 0; site < frame.count && !in.finished(); ++site) {
    for (std::uint64_t depth = in.varint(); depth > 0 && in.intact(); --depth)
      addresses_.push_back(address += unzigzag(in.varint()));
    starts_.push_back(addresses_.size());
  }
  return in.intact();
}

std::span<const std::uint64_t> site_table::frames_of(std::uint32_t site) const {
  if (site == 0 || site >= starts_.size()) return {};
  return std::span(addresses_).subspan(starts_[site - 1], starts_[site] - starts_[site - 1]);
}

}  // namespace heaplab::trace
