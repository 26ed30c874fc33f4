#include "trace/file/event_stream.h"

#include <optional>
#include <string>
#include <utility>

#include "trace/file/event_columns.h"

namespace heaplab::trace {

event_stream::event_stream(trace_file& file, std::uint32_t process) : file_(file), process_(process) {}

std::span<const event> event_stream::next_frame() {
  const trace_file::process_part& of = file_.processes()[process_];
  events_.clear();
  at_ = 0;
  while (frame_ < of.frames.size()) {
    const index_entry& frame = of.frames[frame_++];
    if (is_type(frame, frame_type::sites)) sites_ += frame.count;
    if (!is_type(frame, frame_type::events)) continue;
    const bool sound = read(frame);
    numbered_ += frame.count;
    if (sound) return events_;
    events_.clear();
    rules_.skip();
  }
  if (!std::exchange(at_end_, true)) compare_with_summary();
  return {};
}

bool event_stream::read(const index_entry& frame) {
  if (!file_.read(frame, payload_)) return false;
  const auto number = [&](const event& e) { return std::to_string(frame.first + (&e - events_.data())); };
  if (file_.has_index() ? frame.first != numbered_ : frame.first < expected_)
    return file_.reject(frame, "its first event is number " + std::to_string(frame.first) + ", and " +
                                   std::to_string(numbered_) + " are before");
  if (!decode_events(payload_, frame.count, frame.first_stamp, events_))
    return file_.reject(frame, "its columns are not those of " + std::to_string(frame.count) + " events");
  if (!events_.empty() && events_.front().stamp != frame.first_stamp)
    return file_.reject(frame, "its first event has stamp " + std::to_string(events_.front().stamp) +
                                   ", and the header tells " + std::to_string(frame.first_stamp));
  if (frame.first > expected_) rules_.skip();
  // Where frames were lost without a trace, sites may have been among them.
  const std::uint64_t sites = file_.has_index() ? sites_ : UINT32_MAX;
  event_rules rules = rules_;
  for (const event& e : events_) {
    if (!rules.may_follow(e, sites))
      return file_.reject(frame, "event " + number(e) + ": " + rules.fault_of(e, sites));
    rules.see(e);
  }
  rules_ = rules;
  for (const event& e : events_) {
    acquisitions_ += is_acquisition(e.kind) && e.address != 0 ? 1 : 0;
    failed_ += is_acquisition(e.kind) && e.address == 0 ? 1 : 0;
    releases_ += is_release(e.kind) ? 1 : 0;
  }
  if (frame.first > expected_) lost_ += frame.first - expected_;
  expected_ = frame.first + frame.count;
  return true;
}

void event_stream::compare_with_summary() {
  const properties& summary = file_.processes()[process_].summary;
  if (const std::uint64_t whole = summary.number("events"); whole > expected_) {
    lost_ += whole - expected_;
    expected_ = whole;
  }
  if (lost_ != 0) return;
  const auto compare = [&](const char* name, std::uint64_t found) {
    if (summary.has(name) && summary.number(name) != found)
      file_.blame("the summary of process " + std::to_string(process_) + " tells " + std::string(name) + " " +
                  std::string(summary.text(name)) + ", and there are " + std::to_string(found));
  };
  compare("events", expected_);
  compare("acquisitions", acquisitions_);
  compare("failed", failed_);
  compare("releases", releases_);
}

void each_lived(trace_file& file, std::uint32_t process, const std::function<void(const event&)>& visit) {
  bytes payload;
  std::vector<event> blocks;
  std::optional<event> before;
  std::uint64_t sites = file.has_index() ? 0 : UINT32_MAX;
  for (const index_entry& frame : file.processes()[process].frames) {
    if (is_type(frame, frame_type::sites)) sites += frame.count;
    if (!is_type(frame, frame_type::lived) || !file.read(frame, payload)) continue;
    bool sound = decode_events(payload, frame.count, frame.first_stamp, blocks);
    for (std::optional<event> last = before; const event& block : blocks) {
      sound = sound && block.site <= sites && event_rules::may_live(block, last ? &*last : nullptr);
      last = block;
    }
    if (!sound && !file.reject(frame, "its blocks are no acquisitions by thread 0 in the order of addresses"))
      continue;
    for (const event& block : blocks) visit(block);
    if (!blocks.empty()) before = blocks.back();
  }
}

site_table::site_table(trace_file& file, std::uint32_t process) {
  constexpr std::uint64_t most_lost = std::uint64_t{1} << 20;  // more is nonsense, and would cost memory
  bytes payload;
  std::uint64_t before = 0;
  for (const index_entry& frame : file.processes()[process].frames) {
    if (!is_type(frame, frame_type::sites)) continue;
    const std::uint64_t most = before + (file.has_index() ? 0 : most_lost);
    if (frame.first <= before || frame.first - 1 > most) {
      file.reject(frame, "its first call site is number " + std::to_string(frame.first) + ", and " +
                             std::to_string(before) + " are before");
      continue;
    }
    before = frame.first - 1 + frame.count;
    if (file.read(frame, payload) && !add_frame(frame, payload))
      file.reject(frame, "it does not hold call sites " + std::to_string(frame.first) + " to " +
                             std::to_string(before));
  }
}

bool site_table::add_frame(const index_entry& frame, const bytes& payload) {
  if (frame.count > payload.size()) return false;
  std::vector<std::uint64_t> addresses;
  std::vector<std::size_t> ends;
  column_reader in(payload);
  std::uint64_t address = 0;
  while (ends.size() < frame.count && in.intact()) {
    for (std::uint64_t depth = in.varint(); depth > 0 && in.intact(); --depth)
      addresses.push_back(address += unzigzag(in.varint()));
    ends.push_back(addresses.size());
  }
  if (!in.intact() || !in.finished()) return false;
  // The sites of a lost frame keep their numbers but have no code addresses.
  while (starts_.size() < frame.first) starts_.push_back(addresses_.size());
  for (const std::size_t end : ends) starts_.push_back(addresses_.size() + end);
  addresses_.insert(addresses_.end(), addresses.begin(), addresses.end());
  return true;
}

std::span<const std::uint64_t> site_table::frames_of(std::uint32_t site) const {
  if (site == 0 || site >= starts_.size()) return {};
  return std::span(addresses_).subspan(starts_[site - 1], starts_[site] - starts_[site - 1]);
}

}  // namespace heaplab::trace
