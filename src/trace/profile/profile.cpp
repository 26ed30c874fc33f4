#include "trace/profile/profile.h"

#include <algorithm>
#include <bit>

namespace heaplab::trace {

namespace {

constexpr double shortest_s = 1e-6;  // bound of the first class of lifetimes; each further one is tenfold
constexpr double fewest_events = 10;

std::size_t size_class(std::uint64_t size) {
  return size <= 1 ? 0 : static_cast<std::size_t>(std::bit_width(size - 1));
}

std::size_t chain_class(std::uint32_t growths) {
  return static_cast<std::size_t>(std::bit_width(growths));
}

std::uint64_t share_key(const live_block& block) {
  return std::uint64_t{block.thread} << 32 | block.site;
}

}  // namespace

profile::profile(std::uint64_t ticks_per_second, const last_act& last) : lifetimes_(last) {
  double bound = ticks_per_second == 0 ? fewest_events : shortest_s * static_cast<double>(ticks_per_second);
  for (std::uint64_t& ticks : bounds_) {
    ticks = static_cast<std::uint64_t>(bound);
    bound *= 10;
  }
}

void profile::see(const event& e) {
  if (e.stamp >= lifetimes_.last().begin) lifetimes_.begin_last_act(blocks_);
  ++kinds_[static_cast<std::uint8_t>(e.kind)];
  stretch& now = follow(e);
  if (is_acquisition(e.kind) && e.address != 0) {
    ++now.acquisitions;
    now.bytes_acquired += e.size;
  }
  now.releases += is_release(e.kind) ? 1 : 0;
}

// Applies the event to the live blocks and to the stretch of time in which it lies.
stretch& profile::follow(const event& e) {
  last_stamp_ = e.stamp;
  blocks_.see(
      e, [this](const live_block& block, const live_block* from) { born(block, from); },
      [this](const live_block& block, const event* release) { died(block, release); });
  stretch& now = series_.at(e.stamp);
  now.live_bytes = now_.bytes;
  now.live_blocks = now_.blocks;
  now.peak_bytes = std::max(now.peak_bytes, now.live_bytes);
  now.peak_blocks = std::max(now.peak_blocks, now.live_blocks);
  return now;
}

// The profile of a call site, for a change. `at_peak` is copied lazily: a site that has not changed since the
// last peak of the process still has the numbers of that peak.
site_profile& profile::site(std::uint32_t number) {
  if (number >= sites_.size()) sites_.resize(std::size_t{number} + 1);
  site_profile& found = sites_[number];
  if (found.seen_peak != peaks_) {
    found.at_peak = found.live;
    found.seen_peak = peaks_;
  }
  return found;
}

void profile::born(const live_block& block, const live_block* from) {
  ++growths_.chains[chain_class(block.growths)];
  if (from != nullptr) grew(block, *from);
  lifetimes_.born(block);
  site_profile& of = site(block.site);
  of.acquired.add(block.size);
  of.live.add(block.size);
  if (of.live.bytes > of.most.bytes) of.most = of.live;
  shares_[share_key(block)].add(block.size);
  acquirers_[block.thread].add(block.size);
  now_.add(block.size);
  if (now_.bytes <= peak_.bytes) return;
  peak_ = now_;
  peak_stamp_ = block.acquired;
  ++peaks_;
}

void profile::grew(const live_block& block, const live_block& from) {
  --growths_.chains[chain_class(from.growths)];
  ++growths_.calls;
  growths_.shrank += block.size < from.size ? 1 : 0;
  site_profile& of = site(block.site);
  ++of.growths;
  if (from.address == block.address) return;
  const std::uint64_t copied = std::min(from.size, block.size);
  ++growths_.moved;
  growths_.bytes_moved += copied;
  of.bytes_moved += copied;
}

void profile::died(const live_block& block, const event* release) {
  const std::uint64_t ticks = last_stamp_ - block.acquired;
  const auto life = std::upper_bound(bounds_.begin(), bounds_.end(), ticks) - bounds_.begin();
  count_life(block, ticks, static_cast<std::size_t>(life), release != nullptr ? release->thread : nobody);
  lifetimes_.died(block);
  site(block.site).live.remove(block.size);
  shares_[share_key(block)].live_bytes -= block.size;
  acquirers_[block.thread].live_bytes -= block.size;
  now_.remove(block.size);
}

void profile::count_life(const live_block& block, std::uint64_t ticks, std::size_t life,
                         std::uint32_t releaser) {
  site_profile& of = site(block.site);
  of.lifetimes += ticks;
  const bool both_known = block.thread != nobody && releaser != nobody;
  of.remote += both_known && releaser != block.thread ? 1 : 0;
  lives_[size_class(block.size)][life].add(block.size);
  threads_[std::uint64_t{block.thread} << 32 | releaser].add(block.size);
}

void profile::end() {
  lifetimes_.begin_last_act(blocks_);
  for (std::uint32_t number = 0; number < sites_.size(); ++number) site(number);
  blocks_.each([this](const live_block& block) {
    count_life(block, last_stamp_ - block.acquired, lifetime_classes - 1, nobody);
  });
}

}  // namespace heaplab::trace
