// Preloaded beside a malloc: a thread of the process calls malloc_trim every HEAPLAB_TRIM seconds. What each
// call costs is appended to the file that HEAPLAB_TRIM_COSTS names: nanoseconds that passed, and nanoseconds
// of CPU time, a line for each call.
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>

#include "base/process_environment.h"

namespace {

using trimmer = int(std::size_t);

constexpr long nanoseconds = 1'000'000'000;
constexpr std::size_t stack_size = 256 << 10;

struct trimming {
  trimmer* trim;
  timespec interval;
  const char* costs;  // a path, or null
};

constinit trimming chosen{};

long now(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return time.tv_sec * nanoseconds + time.tv_nsec;
}

void append_cost(long passed, long computed) {
  const int file = open(chosen.costs, O_WRONLY | O_APPEND | O_CLOEXEC);
  if (file < 0) return;
  char line[64];
  const int length = snprintf(line, sizeof line, "%ld %ld\n", passed, computed);
  // A line that cannot be written is a call whose cost is not known.
  [[maybe_unused]] const auto written = write(file, line, static_cast<std::size_t>(length));
  close(file);
}

[[noreturn]] void* trim_again_and_again(void*) {
  for (;;) {
    timespec rest = chosen.interval;
    while (clock_nanosleep(CLOCK_MONOTONIC, 0, &rest, &rest) == EINTR) {
    }
    const long began = now(CLOCK_MONOTONIC);
    const long computed = now(CLOCK_THREAD_CPUTIME_ID);
    chosen.trim(0);
    if (chosen.costs != nullptr)
      append_cost(now(CLOCK_MONOTONIC) - began, now(CLOCK_THREAD_CPUTIME_ID) - computed);
  }
}

// The thread handles none of the program's signals.
void start_thread() {
  sigset_t every;
  sigset_t before;
  sigfillset(&every);
  pthread_sigmask(SIG_SETMASK, &every, &before);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_attr_setstacksize(&attributes, stack_size);
  pthread_t thread;
  if (pthread_create(&thread, &attributes, trim_again_and_again, nullptr) == 0)
    pthread_setname_np(thread, "heaplab-trim");
  pthread_attr_destroy(&attributes);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

[[gnu::constructor]] void begin() {
  const char* const text = heaplab::process_variable("HEAPLAB_TRIM");
  const double seconds = text != nullptr ? strtod(text, nullptr) : 0;
  chosen.trim = reinterpret_cast<trimmer*>(dlsym(RTLD_DEFAULT, "malloc_trim"));
  if (!(seconds > 0) || chosen.trim == nullptr) return;
  chosen.interval.tv_sec = static_cast<time_t>(seconds);
  chosen.interval.tv_nsec =
      static_cast<long>((seconds - static_cast<double>(chosen.interval.tv_sec)) * nanoseconds);
  chosen.costs = heaplab::process_variable("HEAPLAB_TRIM_COSTS");
  // The first thread allocates: a malloc that begins with its first call has then registered its handlers of
  // fork, and repairs the heap of a child before the child starts a thread.
  start_thread();
  pthread_atfork(nullptr, nullptr, start_thread);
}

}  // namespace
