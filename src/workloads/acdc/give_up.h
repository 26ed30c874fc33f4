#pragma once

#include <unistd.h>

#include "base/atomic.h"
#include "base/text_line.h"

namespace heaplab::acdc {

// Ends the program with one line and status 1, without touching the heap, which may be broken.
[[noreturn, gnu::noinline, gnu::cold]] inline void give_up(const char* why) {
  // Several threads often notice the fault together: the first reports it, and the others wait for the end of
  // the process. relaxed: only one thread gets false, and it reads nothing afterwards that the others wrote.
  static atomic<bool> spoken = false;
  while (spoken.exchange(true, std::memory_order_relaxed)) ::pause();
  text_line line;
  line.add("acdc: ").add(why);
  line.write_to(STDERR_FILENO);
  ::_exit(1);
}

}  // namespace heaplab::acdc
