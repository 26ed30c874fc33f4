// Threads that start together and need no container or closure on the heap while they run.
#pragma once

#include <pthread.h>

namespace heaplab::probes {

// All `count` threads wait until the last has arrived. Unlike std::barrier, this class never allocates.
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

// The work of a team. Thread 0 is the caller, so that a team of one is a single-threaded program. This
// matters: while a process has one thread, allocators avoid locks, and the C library uses its main arena.
class team_task {
public:
  // Runs on every thread before the start; may allocate.
  virtual void prepare(unsigned /*thread*/) {}
  // started() runs once, on thread 0, when all threads are ready; finished() runs once, on thread 0, when all
  // have returned from run().
  virtual void started() {}
  virtual void finished() {}
  virtual void run(unsigned thread) = 0;

protected:
  ~team_task() = default;
};

// Runs the task on `count` threads and returns when all have ended. Threads end only after finished(). Throws
// std::system_error when the system refuses a thread; run() was then called on no thread.
void run_team(unsigned count, team_task& task);

}  // namespace heaplab::probes
