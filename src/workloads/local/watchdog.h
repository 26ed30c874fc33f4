#pragma once

#include <signal.h>

#include <array>
#include <cstdint>

namespace heaplab::strategies {

// While one lives a crash of the process ends it with one line, and so do more than `seconds` of processor
// time, 1 or more: a heap that breaks containers is seen when they crash or are walked in circles. One at a
// time.
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
