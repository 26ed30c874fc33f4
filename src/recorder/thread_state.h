// What a thread knows about its recording. Kept small: it lies in the static thread-local memory of the
// process, of which libraries loaded later want some too.
#pragma once

#include <cstdint>

#include "trace/raw_file.h"

namespace heaplab::recorder {

enum class activity : std::uint8_t {
  none,
  call,  // in an allocation function of the program's: a call made meanwhile is counted as lost
  own,   // in the recorder itself: what that calls is not the program's
};

struct thread_state {
  trace::raw_record* next = nullptr;  // the record to be written next
  trace::raw_record* end = nullptr;
  trace::raw_chunk* chunk = nullptr;
  std::uint32_t epoch = 0;   // of the process that the members above belong to
  std::uint32_t thread = 0;  // number, from 1; 0: this thread has recorded nothing
  activity doing = activity::none;
  std::uint8_t chunks = 0;       // got so far, as far as their size grows
  std::uint8_t exit_rounds = 0;  // of thread-exit handlers that were seen
  bool exited = false;           // no later handler of this library will run
};
static_assert(sizeof(thread_state) <= 64);

inline constinit thread_local thread_state here;

// Marks what the thread does, for its own calls below this one and its signal handlers.
class doing {
public:
  doing(thread_state& state, activity what) : state_(state), before_(state.doing) { set(what); }
  ~doing() { set(before_); }
  doing(const doing&) = delete;
  doing& operator=(const doing&) = delete;

private:
  void set(activity what) {
    // Neither moved nor merged by the compiler: a handler of this thread must see it.
    atomic_ref(state_.doing).store(what, std::memory_order_relaxed);
    std::atomic_signal_fence(std::memory_order_seq_cst);
  }

  thread_state& state_;
  activity before_;
};

}  // namespace heaplab::recorder
