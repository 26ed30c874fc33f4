// Threads that begin together, without a container or a closure on the heap while they run.
#pragma once

#include <pthread.h>

namespace heaplab::probes {

// All `count` threads wait until the last has arrived. Unlike std::barrier it never allocates.
class barrier {
public:
  explicit barrier(unsigned count) { pthread_barrier_init(&barrier_, nullptr, count); }
  ~barrier() { pthread_barrier_destroy(&barrier_); }
  barrier(const barrier&) = delete;
  barrier& operator=(const barrier&) = delete;

  void wait() { pthread_barrier_wait(&barrier_); }

private:
  pthread_barrier_t barrier_;
};

// What a team does. Thread 0 is the caller itself, so a team of one is a single-threaded program, which
// matters: allocators avoid locks, and the C library uses its main arena, while there is one thread.
class team_task {
public:
  // Runs on every thread before the start; may allocate.
  virtual void prepare(unsigned /*thread*/) {}
  // Runs once, on thread 0, when all threads stand ready, and again when all are done with run().
  virtual void started() {}
  virtual void finished() {}
  // The work.
  virtual void run(unsigned thread) = 0;

protected:
  ~team_task() = default;
};

// Runs the task on `count` threads and returns when all have ended. Threads end only after finished().
// Throws std::system_error when the system refuses a thread; then run() was called on none.
void run_team(unsigned count, team_task& task);

}  // namespace heaplab::probes
