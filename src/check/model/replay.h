// Runs a sequence in a process of its own, which starts with the same heap every time.
#pragma once

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <span>

#include "base/assertion.h"
#include "check/children.h"
#include "check/model/operation.h"
#include "check/model/shadow_heap.h"
#include "check/model/team.h"

namespace heaplab::check {

// A text that a child process can write: empty, or the description of a fault.
class fault_text {
public:
  fault_text() {
    verdict::text = static_cast<char*>(
        mmap(nullptr, verdict::longest, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
    HEAPLAB_ASSERT(verdict::text != MAP_FAILED);
  }
  void clear() { verdict::text[0] = '\0'; }
  const char* get() const { return verdict::text; }
};

inline void perform_all(std::span<const operation> sequence) {
  static shadow_heap heap;
  static team threads(heap);
  for (const operation& step : sequence) threads.perform(step);
  threads.end_all();
  heap.release_all();
}

// True if the sequence found no fault; otherwise `text` describes the fault.
inline bool holds(std::span<const operation> sequence, fault_text& text) {
  constexpr unsigned limit_s = 20;
  text.clear();
  const pid_t child = fork();
  if (child < 0) {
    std::perror("fork");
    std::_Exit(3);
  }
  if (child == 0) {
    alarm(limit_s);
    perform_all(sequence);
    std::_Exit(0);
  }
  const int status = status_of(child);
  if (status == 0) return true;
  if (WIFSIGNALED(status))
    std::snprintf(verdict::text, verdict::longest, "killed by signal %d (%s)", WTERMSIG(status),
                  strsignal(WTERMSIG(status)));
  return false;
}

}  // namespace heaplab::check
