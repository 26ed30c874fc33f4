#pragma once

#include <signal.h>
#include <sys/time.h>

#include <array>
#include <cstdint>

#include "workloads/harness/stamp.h"

namespace heaplab::strategies {

// While an object of this class exists, a crash of the process, or `seconds` (at least 1) of processor time,
// ends the process with one line. A heap that breaks containers shows in crashes and endless walks. At most
// one object exists at a time.
class watchdog {
public:
  explicit watchdog(std::uint64_t seconds) {
    struct sigaction action = {};
    action.sa_handler = say;
    for (std::size_t i = 0; i < signals.size(); ++i) ::sigaction(signals[i], &action, &before_[i]);
    set_timer(seconds);
  }
  ~watchdog() {
    set_timer(0);
    for (std::size_t i = 0; i < signals.size(); ++i) ::sigaction(signals[i], &before_[i], nullptr);
  }
  watchdog(const watchdog&) = delete;
  watchdog& operator=(const watchdog&) = delete;

private:
  static constexpr int time_is_up = SIGPROF;
  static constexpr std::array signals{SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, time_is_up};

  static void set_timer(std::uint64_t seconds) {
    const itimerval once{.it_interval = {},
                         .it_value = {.tv_sec = static_cast<time_t>(seconds), .tv_usec = 0}};
    ::setitimer(ITIMER_PROF, &once, nullptr);
  }

  static void say(int number) {
    harness::broken_contents(number == time_is_up ? "structures are made, read and ended in bounded time"
                                                  : "structures are made, read and ended without a crash");
  }

  std::array<struct sigaction, signals.size()> before_;
};

}  // namespace heaplab::strategies
