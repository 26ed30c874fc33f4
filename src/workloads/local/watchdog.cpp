#include "workloads/local/watchdog.h"

#include <sys/time.h>

#include "workloads/harness/stamp.h"

namespace heaplab::strategies {

namespace {

void set_timer(std::uint64_t seconds) {
  const itimerval once{.it_interval = {}, .it_value = {.tv_sec = static_cast<time_t>(seconds), .tv_usec = 0}};
  ::setitimer(ITIMER_PROF, &once, nullptr);
}

}  // namespace

watchdog::watchdog(std::uint64_t seconds) {
  struct sigaction action = {};
  action.sa_handler = say;
  for (std::size_t i = 0; i < signals.size(); ++i) ::sigaction(signals[i], &action, &before_[i]);
  set_timer(seconds);
}

watchdog::~watchdog() {
  set_timer(0);
  for (std::size_t i = 0; i < signals.size(); ++i) ::sigaction(signals[i], &before_[i], nullptr);
}

void watchdog::say(int number) {
  harness::broken_contents(number == time_is_up ? "structures are made, read and ended in bounded time"
                                                : "structures are made, read and ended without a crash");
}

}  // namespace heaplab::strategies
