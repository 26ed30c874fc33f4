// The threads of this process beside the caller: in a program of one thread, those that the malloc itself
// has started.
#pragma once

#include <dirent.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace heaplab::check {

// The letter of the state of a thread of this process, as in /proc; 0 where it has ended. Uses no stdio
// stream.
inline char state_of(pid_t thread) {
  char path[64], text[256] = {};
  std::snprintf(path, sizeof path, "/proc/self/task/%d/stat", thread);
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return '\0';
  const ssize_t length = read(file, text, sizeof text - 1);
  close(file);
  const char* const name_end = length > 0 ? std::strrchr(text, ')') : nullptr;
  return name_end != nullptr ? name_end[2] : '\0';
}

// Calls visit(thread, state) for each, with the letter of its state as in /proc. Uses no stdio stream, but
// opendir allocates.
template <class Visit>
void for_each_other_thread(Visit&& visit) {
  DIR* const folder = opendir("/proc/self/task");
  if (folder == nullptr) return;
  const auto self = static_cast<pid_t>(syscall(SYS_gettid));
  while (const dirent* const entry = readdir(folder)) {
    const auto thread = static_cast<pid_t>(std::strtol(entry->d_name, nullptr, 10));
    if (thread <= 0 || thread == self) continue;
    if (const char state = state_of(thread); state != '\0') visit(thread, state);
  }
  closedir(folder);
}

inline bool another_thread_runs() {
  bool result = false;
  for_each_other_thread([&](pid_t, char state) { result = result || state == 'R'; });
  return result;
}

// Waits until every other thread sleeps, for a second at most.
inline void let_others_sleep() {
  for (unsigned waits = 0; waits < 1'000 && another_thread_runs(); ++waits) usleep(1'000);
}

}  // namespace heaplab::check
