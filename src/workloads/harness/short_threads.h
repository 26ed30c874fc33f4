// Threads that start and end while the clock runs. The threads of a team (probes/thread_team.h) exist for the
// whole run.
#pragma once

#include <pthread.h>

#include <cstring>
#include <string>

#include "workloads/harness/usage_error.h"

namespace heaplab::harness {

// Starts entry(argument) on a new thread. Throws run_error if the system refuses the thread.
inline pthread_t start_thread(void* (*entry)(void*), void* argument,
                              const pthread_attr_t* attributes = nullptr) {
  pthread_t made{};
  if (const int error = pthread_create(&made, attributes, entry, argument); error != 0)
    throw run_error(std::string("cannot create a thread: ") + std::strerror(error));
  return made;
}

// Starts entry(argument) on a new thread that is never joined.
inline void start_detached_thread(void* (*entry)(void*), void* argument) {
  pthread_detach(start_thread(entry, argument));
}

}  // namespace heaplab::harness
