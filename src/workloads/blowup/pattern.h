#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "workloads/blowup/live_total.h"
#include "workloads/harness/harness.h"

namespace heaplab::blowup {

// What the user asks for, whatever the pattern.
struct settings {
  std::uint64_t threads = 2;
  std::uint64_t live = std::uint64_t{64} << 20;  // bytes alive at the most, of all threads
  std::uint64_t rounds = 60;
  harness::size_mix sizes{64, 8192};
  std::uint64_t stays = 500;        // one object in so many stays for good
  std::uint64_t spread_sizes = 50;  // sizes of which each thread holds one object
};

// What the threads of a run share. `team` starts threads beside those of the team.
struct run_context {
  const settings& asked;
  harness::measurement& measured;
  harness::team_workload& team;
  live_total& total;
};

// One way to make a heap hold more memory than the program ever has alive.
class pattern {
public:
  virtual ~pattern() = default;

  // The work of a thread of the team, while the clock runs.
  virtual void run(unsigned thread) = 0;

  // Frees what is left, on the main thread, when the clock has stopped.
  virtual void release_rest() = 0;
};

// How users know a pattern.
struct pattern_entry {
  const char* name;
  const char* does;         // the subject and the verb, for --help
  std::string_view option;  // what this pattern alone takes, or some patterns; empty: nothing
  std::unique_ptr<pattern> (*make)(const run_context&);
  void (*check)(const settings&) = nullptr;  // throws usage_error for what the pattern cannot do
};

template <class Pattern>
std::unique_ptr<pattern> make_pattern(const run_context& context) {
  return std::make_unique<Pattern>(context);
}

}  // namespace heaplab::blowup
