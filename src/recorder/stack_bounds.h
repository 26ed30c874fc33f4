// Where the stack of a thread lies. The C library's answer, pthread_getattr_np, is of no use to a recorder:
// the function holds a lock of the thread while it calls realloc.
//
// The main thread's stack ends where the loader says. The C library places the record of any other thread,
// whose address is pthread_self(), at the top of the thread's stack. From there the stack reaches down to the
// first page that cannot be read: the guard page. Memory of a live thread's stack stays mapped, so that a
// page once found readable needs no second look.
#pragma once

#include <cstdint>

namespace heaplab::recorder {

// Every member is zero, and the bounds unknown, in a new thread and in a child of fork.
class stack_bounds {
public:
  // Whether [from, from + bytes) lies in the stack of the calling thread. Other stacks, of signal handlers
  // and of coroutines, are none of its.
  bool hold(std::uint64_t from, std::uint64_t bytes) {
    return from <= top_ && top_ - from >= bytes && (from >= low_ || reaches(from));
  }

  bool are_known() const { return top_ != 0; }

  // Finds the bounds. They stay unknown while the main thread runs on another stack than its own.
  // Precondition: called by the thread of these bounds, with an address `within` the stack it now runs on.
  void find(std::uint64_t within);

private:
  bool reaches(std::uint64_t address);

  std::uint64_t top_;     // 0: not known
  std::uint64_t low_;     // the lowest address that is known to be of the stack
  std::uint64_t lowest_;  // that may be of the stack; low_, once the guard page was found
};

}  // namespace heaplab::recorder
