#pragma once

#include <signal.h>

#include <array>
#include <cstdint>

namespace heaplab::strategies {

// While an object of this class exists, a crash of the process, or `seconds` (at least 1) of processor time,
// ends the process with one line. A heap that breaks containers shows in crashes and endless walks. At most
// one object exists at a time.
class watchdog {
public:
  explicit watchdog(std::uint64_t seconds);
  ~watchdog();
  watchdog(const watchdog&) = delete;
  watchdog& operator=(const watchdog&) = delete;

private:
  static constexpr int time_is_up = SIGPROF;
  static constexpr std::array signals{SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, time_is_up};

  static void say(int number);

  std::array<struct sigaction, signals.size()> before_;
};

}  // namespace heaplab::strategies
