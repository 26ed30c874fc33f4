// The recording state of a thread. Small, because it lies in the static thread-local memory of the process,
// which libraries loaded later need too.
#pragma once

#include <cstdint>

#include "base/instruction_counter.h"
#include "trace/raw/raw_file.h"

namespace heaplab::recorder {

enum class activity : std::uint8_t {
  none,
  call,    // in an allocation function called by the program: nested calls are counted as lost
  served,  // in a redirected function, whose own calls are not the program's
  own,     // in the recorder itself, whose calls are not the program's
};

// POSIX guarantees four rounds of thread-exit handlers (PTHREAD_DESTRUCTOR_ITERATIONS): the fourth may be the
// last. In the fourth, the thread sanitizer ends its own part of the thread.
#ifdef __SANITIZE_THREAD__
inline constexpr std::uint8_t last_exit_round = 3;
#else
inline constexpr std::uint8_t last_exit_round = 4;
#endif

struct stack_cache;

struct thread_state {
  trace::raw_record* next = nullptr;  // the next record to be written
  trace::raw_record* end = nullptr;
  trace::raw_chunk* chunk = nullptr;
  stack_cache* stacks = nullptr;
  instruction_counter instructions;
  std::uint32_t epoch = 0;   // epoch of the process to which the records above belong
  std::uint32_t thread = 0;  // number of the thread, from 1; 0: this thread has recorded nothing
  activity doing = activity::none;
  std::uint8_t chunks = 0;       // how often the thread's next chunk is to have grown
  std::uint8_t exit_rounds = 0;  // rounds of thread-exit handlers so far
  bool exited = false;           // no later exit handler of this library will run
};
static_assert(sizeof(thread_state) <= 64);

inline constinit thread_local thread_state this_thread;

// Marks what the thread is doing, for nested calls and for signal handlers of the thread.
class doing {
public:
  doing(thread_state& state, activity what) : state_(state), before_(state.doing) { set(what); }
  ~doing() { set(before_); }
  doing(const doing&) = delete;
  doing& operator=(const doing&) = delete;

private:
  void set(activity what) {
    // The fence keeps the compiler from moving or merging the store: a signal handler of this thread must see
    // it.
    atomic_ref(state_.doing).store(what, std::memory_order_relaxed);
    std::atomic_signal_fence(std::memory_order_seq_cst);
  }

  thread_state& state_;
  activity before_;
};

}  // namespace heaplab::recorder
