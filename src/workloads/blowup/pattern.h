#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
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
  const char* does;                // the subject and the verb, for --help
  std::string_view option;         // what this pattern alone takes, or some patterns; empty: nothing
  void (*check)(const settings&);  // throws usage_error for what the pattern cannot do; null: it can do all
  std::unique_ptr<pattern> (*make)(const run_context&);
};

// All patterns, by the names that --pattern takes.
inline std::map<std::string, pattern_entry>& patterns() {
  static std::map<std::string, pattern_entry> all;
  return all;
}

// Each file in patterns/ has a variable of this type, which enters the pattern before main.
template <class Pattern>
struct registered {
  registered(const char* name, const char* does, std::string_view option = "",
             void (*check)(const settings&) = nullptr) {
    patterns()[name] = {does, option, check, [](const run_context& context) -> std::unique_ptr<pattern> {
                          return std::make_unique<Pattern>(context);
                        }};
  }
};

}  // namespace heaplab::blowup
