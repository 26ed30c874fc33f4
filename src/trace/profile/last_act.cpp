#include "trace/profile/last_act.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "trace/file/event_columns.h"

namespace heaplab::trace {

namespace {

constexpr std::uint64_t usual_share = 50;        // of the run: the last act is at least 1 / usual_share of it
constexpr std::uint64_t largest_share = 5;       // at most 1 / largest_share
constexpr std::uint64_t pause_share = 20;        // a low state of memory lasts if it takes 1 / pause_share
constexpr std::uint64_t shortest_pause_ms = 60;  // a busy machine stops a thread for less
constexpr int per_acquisition = 4;               // releases that make up for an acquisition
constexpr std::uint64_t least_patience = 64;     // by which acquisitions may prevail for a while,
constexpr std::uint64_t patience_share = 1000;   // or by 1 / patience_share of all events

// Sees the events of a process from the last to the first.
class backwards {
public:
  backwards(std::uint64_t first_stamp, std::uint64_t end, std::uint64_t events,
            std::uint64_t ticks_per_second)
      : pause_(std::max((end - first_stamp) / pause_share, ticks_per_second * shortest_pause_ms / 1000)),
        usual_(end - (end - first_stamp) / usual_share),
        earliest_(end - (end - first_stamp) / largest_share),
        later_(end),
        usual_events_(events / usual_share),
        patience_(static_cast<long>(std::max(least_patience, events / patience_share))),
        found_{end + 1, 0} {}

  // Takes the events from the last to the first. False: the search ends, the last act begins after this
  // event.
  bool see(const event& e) {
    const bool usual = e.stamp > usual_ && seen_ < usual_events_;
    tidying_ = tidying_ && later_ - std::min(later_, e.stamp) <= pause_ && e.stamp >= earliest_;
    if (!usual && !tidying_) return false;
    later_ = e.stamp;
    ++seen_;
    acquisitions_ += is_acquisition(e.kind) && e.address != 0 ? 1 : 0;
    if (is_release(e.kind)) ++balance_;
    if (is_acquisition(e.kind)) balance_ -= per_acquisition;
    tidying_ = tidying_ && balance_ > most_ - patience_;
    if (usual || (tidying_ && balance_ > most_)) found_ = {e.stamp, acquisitions_};
    most_ = std::max(most_, balance_);
    return true;
  }

  const last_act& found() const { return found_; }

private:
  std::uint64_t pause_;
  std::uint64_t usual_;     // the last fiftieth begins behind this stamp
  std::uint64_t earliest_;  // stamp
  std::uint64_t later_;     // stamp of the event behind
  std::uint64_t usual_events_;
  long patience_;
  std::uint64_t seen_ = 0;
  std::uint64_t acquisitions_ = 0;
  long balance_ = 0;  // releases less acquisitions, from the end
  long most_ = 0;
  bool tidying_ = true;
  last_act found_;
};

}  // namespace

last_act last_act_of(trace_file& file, std::uint32_t process) {
  const trace_file::process_part& of = file.processes()[process];
  std::vector<index_entry> frames;
  for (const index_entry& frame : of.frames)
    if (is_type(frame, frame_type::events)) frames.push_back(frame);
  bytes payload;
  std::vector<event> events;
  std::optional<backwards> found;
  bool going = true;
  for (auto frame = frames.rbegin(); going && frame != frames.rend(); ++frame) {
    if (!file.read(*frame, payload) || !decode_events(payload, frame->count, frame->first_stamp, events))
      continue;
    if (!found && !events.empty())
      found.emplace(frames.front().first_stamp, std::max(of.summary.number("end_ticks"), events.back().stamp),
                    of.events, of.of.number("ticks_per_second"));
    for (auto e = events.rbegin(); going && e != events.rend(); ++e) going = found->see(*e);
  }
  const std::uint64_t all = of.summary.has("acquisitions") ? of.summary.number("acquisitions") : of.events;
  if (!found) return {};
  last_act act = found->found();
  act.acquisitions = all - std::min(all, act.acquisitions);
  return act;
}

}  // namespace heaplab::trace
