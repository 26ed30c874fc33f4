#include "recorded/edited_events.h"

namespace heaplab::recorded {

using trace::event;
using trace::kind;

std::span<const event> edited_events::changed(const event& e) {
  ++number_;
  count_ = 0;
  if (!trace::is_acquisition(e.kind) && !trace::is_release(e.kind)) {
    put(e);
  } else if (!end_growth(e)) {
    trace::is_acquisition(e.kind) ? acquire(e) : release(e);
  }
  return std::span(out_).first(count_);
}

// True: the event is the second half of a reallocation whose first half was ours.
bool edited_events::end_growth(const event& e) {
  const auto found = open_growths_.find(e.thread);
  if (found == open_growths_.end()) return false;
  const open_growth open = found->second;
  open_growths_.erase(found);
  const bool grows = trace::is_growth(e.kind);
  const std::uint64_t address = grows && e.address != 0 ? e.address : open.from;
  if (grows) {
    ours_[address] = open.block;
    if (open.block != 0) places_[open.block] = address;
  } else if (open.block != 0) {  // it was realloc(block, 0), which releases
    put({.stamp = e.stamp, .address = open.block, .thread = e.thread, .kind = kind::free});
  }
  return grows;
}

void edited_events::acquire(const event& e) {
  if (e.address == 0) return put(e);
  ours_.erase(e.address);
  if (leaves_out(e)) {
    ours_[e.address] = 0;
    return;
  }
  if (const auto first = habits_.chain_before(number_)) {
    if (const auto found = reserved_.find(*first); found != reserved_.end()) {
      ours_[e.address] = found->second;
      places_[found->second] = e.address;
      return;
    }
  }
  const trace::block_chain* const chain = habits_.chain_from(number_);
  if (chain == nullptr || !wanted_.reserve.contains(chain->site)) return put(e);
  const stands_for reserved = next_reserved_++;
  reserved_[number_] = ours_[e.address] = reserved;
  places_[reserved] = e.address;
  event whole = e;
  whole.address = reserved;
  whole.size = chain->most_size;
  put(whole);
}

void edited_events::release(const event& e) {
  const auto found = ours_.find(e.address);
  if (found == ours_.end()) return put(e);
  const stands_for block = found->second;
  ours_.erase(found);
  if (e.kind == kind::realloc_from || e.kind == kind::reallocarray_from) {
    open_growths_[e.thread] = {block, e.address};
    return;
  }
  if (block == 0 || places_[block] != e.address) return;  // left out, or copied to where the block is now
  places_.erase(block);
  event released = e;
  released.address = block;
  put(released);
}

bool edited_events::leaves_out(const event& e) {
  if (wanted_.stack.contains(e.site) && habits_.dies_at_once(number_)) return true;
  const auto share = wanted_.less.find(e.site);
  if (share == wanted_.less.end()) return false;
  double& owed = owed_[e.site];
  owed += share->second;
  if (owed < 1) return false;
  owed -= 1;
  return true;
}

}  // namespace heaplab::recorded
