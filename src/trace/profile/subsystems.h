// What local allocators need to know of groups of call sites: episodes, and the counts behind the five
// dimensions of P0089, section 5.
//
// An episode of a group is a stretch of one thread's events. The episode begins with a block and ends where
// none of its blocks lives any more; or where next to none does, once it had as many bytes as matter: then
// blocks that still live have survived it. Groups may share call sites.
//
// Two passes over the events: the first tells how many bytes matter in each thread.
//
// Memory: that of live_blocks.h, and some 200 bytes for each thread of a group.
#pragma once

#include <array>
#include <cstdint>
#include <set>
#include <unordered_map>
#include <vector>

#include "trace/profile/lifetimes.h"
#include "trace/profile/live_blocks.h"

namespace heaplab::trace {

struct episode {
  std::uint64_t begin = 0;  // stamps
  std::uint64_t end = 0;
  std::uint64_t bytes = 0;  // of all its blocks
  std::uint64_t most = 0;   // live at a time
  std::uint32_t thread = 0;
};

struct subsystem {
  static constexpr std::size_t powers = 65;         // [n]: above 2^(n-1), up to 2^n
  static constexpr std::uint64_t large = 4096;      // bytes: blocks above pass through a multipool
  static constexpr std::size_t most_episodes = 64;  // that are kept for a picture, the largest

  amount acquired;
  amount above_large;
  std::uint64_t released = 0;
  std::array<std::uint64_t, powers> sizes{};  // blocks
  std::uint64_t growths = 0;                  // blocks that came of a reallocation
  std::uint64_t remote = 0;                   // blocks that another thread released
  std::uint64_t turns = 0;                    // calls of its threads before which another group was at work
  std::uint64_t live_bytes = 0;
  std::uint64_t most_bytes = 0;  // live at a time, in all threads
  std::set<std::uint32_t> threads;
  std::uint64_t episodes = 0;                        // that ended
  std::uint64_t open_bytes = 0;                      // of episodes that had not ended
  std::uint64_t ticks = 0;                           // in episodes, summed over threads
  std::uint64_t episode_bytes = 0;                   // of all episodes
  std::uint64_t episode_most = 0;                    // sum over episodes of what lived at a time
  std::array<std::uint64_t, powers> totals{};        // bytes, by the bytes of their episode
  std::vector<episode> largest;                      // by bytes
  std::unordered_map<std::uint32_t, amount> stayed;  // survivors by call site
};

class subsystems {
public:
  using groups = std::vector<std::vector<std::uint32_t>>;  // call sites

  explicit subsystems(const groups& wanted);

  // Hears each event of the process in order, then end_pass(); all of that twice.
  void see(const event& e);
  void end_pass();

  // After the second pass, in the order of the groups.
  const std::vector<subsystem>& found() const { return found_; }

private:
  struct thread_state {
    episode now;
    std::uint64_t first = 0;   // number of the acquisition with which the episode began
    std::uint64_t blocks = 0;  // that live
    std::uint64_t bytes = 0;
    std::uint64_t matters = 0;  // the most bytes that the first pass saw
    bool ebbed = false;         // next to nothing is left
  };

  const std::vector<std::uint32_t>& groups_of(std::uint32_t site) const;
  thread_state& state(std::uint32_t group, std::uint32_t thread);
  void born(std::uint32_t group, const live_block& block);
  void died(std::uint32_t group, const live_block& block, const event* release);
  void end_episode(subsystem& of, thread_state& state, bool closed);
  void turn(const event& e, const std::vector<std::uint32_t>& into);

  std::vector<std::vector<std::uint32_t>> by_site_;
  std::vector<std::unordered_map<std::uint32_t, thread_state>> states_;  // by group, then by thread
  std::vector<subsystem> found_;
  std::unordered_map<std::uint32_t, std::uint32_t> last_site_;  // by thread, of its acquisitions
  block_lives lives_;
  bool counts_ = false;  // the second pass
};

}  // namespace heaplab::trace
