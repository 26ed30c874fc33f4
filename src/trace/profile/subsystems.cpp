#include "trace/profile/subsystems.h"

#include <algorithm>
#include <bit>

namespace heaplab::trace {

namespace {

// An episode had as many bytes as matter from this share of the thread's most bytes on. Where it has come
// down to the other share, next to nothing is left.
constexpr std::uint64_t substantial = 8;
constexpr std::uint64_t next_to_nothing = 32;

std::size_t power_of(std::uint64_t bytes) {
  return static_cast<std::size_t>(std::bit_width(std::max<std::uint64_t>(bytes, 1) - 1));
}

void keep_largest(std::vector<episode>& kept, const episode& added) {
  const auto more = [](const episode& left, const episode& right) { return left.bytes > right.bytes; };
  if (kept.size() == subsystem::most_episodes) {
    if (kept.front().bytes >= added.bytes) return;
    std::pop_heap(kept.begin(), kept.end(), more);
    kept.pop_back();
  }
  kept.push_back(added);
  std::push_heap(kept.begin(), kept.end(), more);
}

}  // namespace

subsystems::subsystems(const groups& wanted) : states_(wanted.size()), found_(wanted.size()) {
  for (std::uint32_t group = 0; group < wanted.size(); ++group)
    for (const std::uint32_t site : wanted[group]) {
      if (by_site_.size() <= site) by_site_.resize(std::size_t{site} + 1);
      by_site_[site].push_back(group);
    }
}

const std::vector<std::uint32_t>& subsystems::groups_of(std::uint32_t site) const {
  static const std::vector<std::uint32_t> none;
  return site < by_site_.size() ? by_site_[site] : none;
}

subsystems::thread_state& subsystems::state(std::uint32_t group, std::uint32_t thread) {
  return states_[group][thread];
}

void subsystems::see(const event& e) {
  if (counts_ && is_acquisition(e.kind) && e.address != 0) turn(e, groups_of(e.site));
  lives_.see(
      e,
      [this](const live_block& block, const live_block* from) {
        for (const std::uint32_t group : groups_of(block.site)) {
          born(group, block);
          if (counts_ && from != nullptr) ++found_[group].growths;
        }
      },
      [this](const live_block& block, const event* release) {
        for (const std::uint32_t group : groups_of(block.site)) died(group, block, release);
      });
}

void subsystems::turn(const event& e, const std::vector<std::uint32_t>& into) {
  std::uint32_t& last = last_site_[e.thread];
  const auto& before = groups_of(last);
  for (const std::uint32_t group : into)
    if (std::find(before.begin(), before.end(), group) == before.end()) ++found_[group].turns;
  last = e.site;
}

void subsystems::born(std::uint32_t group, const live_block& block) {
  subsystem& of = found_[group];
  thread_state& own = state(group, block.thread);
  if (counts_ && own.ebbed) end_episode(of, own, true);
  if (own.now.bytes == 0 && own.blocks == 0) {
    own.first = block.number;
    own.now.begin = block.acquired;
    own.now.thread = block.thread;
  }
  ++own.blocks;
  own.bytes += block.size;
  own.now.bytes += block.size;
  own.now.end = block.acquired;
  own.now.most = std::max(own.now.most, own.bytes);
  own.matters = std::max(own.matters, own.now.most);
  if (!counts_) return;
  of.acquired.add(block.size);
  if (block.size > subsystem::large) of.above_large.add(block.size);
  ++of.sizes[power_of(block.size)];
  of.live_bytes += block.size;
  of.most_bytes = std::max(of.most_bytes, of.live_bytes);
  of.threads.insert(block.thread);
}

void subsystems::died(std::uint32_t group, const live_block& block, const event* release) {
  subsystem& of = found_[group];
  thread_state& own = state(group, block.thread);
  const bool in_episode = block.number >= own.first;
  if (in_episode || !counts_) {
    --own.blocks;
    own.bytes -= block.size;
  }
  if (!counts_) return;
  of.live_bytes -= block.size;
  if (release != nullptr) {
    ++of.released;
    of.remote += release->thread != block.thread ? 1 : 0;
    own.now.end = std::max(own.now.end, release->stamp);
  }
  if (!in_episode) {
    of.stayed[block.site].add(block.size);
    return;
  }
  if (own.blocks == 0) return end_episode(of, own, true);
  own.ebbed = own.now.most >= own.matters / substantial && own.bytes <= own.matters / next_to_nothing;
}

void subsystems::end_episode(subsystem& of, thread_state& own, bool closed) {
  if (closed) ++of.episodes;
  if (!closed) of.open_bytes += own.now.bytes;
  of.ticks += own.now.end - std::min(own.now.begin, own.now.end);
  of.episode_bytes += own.now.bytes;
  of.episode_most += own.now.most;
  of.totals[power_of(own.now.bytes)] += own.now.bytes;
  keep_largest(of.largest, own.now);
  own.now = {};
  own.blocks = own.bytes = 0;
  own.ebbed = false;
}

void subsystems::end_pass() {
  if (!counts_) {
    for (auto& threads : states_)
      for (auto& [thread, own] : threads) own = {.now = {}, .matters = own.matters};
    lives_ = {};
    counts_ = true;
    return;
  }
  lives_.each([this](const live_block& block) {
    for (const std::uint32_t group : groups_of(block.site))
      if (block.number < state(group, block.thread).first) found_[group].stayed[block.site].add(block.size);
  });
  for (std::uint32_t group = 0; group < states_.size(); ++group)
    for (auto& [thread, own] : states_[group])
      if (own.now.bytes != 0) end_episode(found_[group], own, false);
}

}  // namespace heaplab::trace
