#include "workloads/local/watchdog.h"

#include <signal.h>
#include <sys/time.h>

#include "workloads/harness/stamp.h"

namespace heaplab::strategies {

namespace {

constexpr int crashes[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT};
constexpr int time_is_up = SIGPROF;

void say(int number) {
  harness::broken_contents(number == time_is_up ? "structures are made, read and ended in bounded time"
                                                : "structures are made, read and ended without a crash");
}

void handle(int number, void (*handler)(int)) {
  struct sigaction action = {};
  action.sa_handler = handler;
  ::sigaction(number, &action, nullptr);
}

void handle_all(void (*handler)(int)) {
  for (const int number : crashes) handle(number, handler);
  handle(time_is_up, handler);
}

void set_timer(std::uint64_t seconds) {
  const itimerval once{.it_interval = {}, .it_value = {.tv_sec = static_cast<time_t>(seconds), .tv_usec = 0}};
  ::setitimer(ITIMER_PROF, &once, nullptr);
}

}  // namespace

watchdog::watchdog(std::uint64_t seconds) {
  handle_all(say);
  set_timer(seconds);
}

watchdog::~watchdog() {
  set_timer(0);
  handle_all(SIG_DFL);
}

}  // namespace heaplab::strategies
