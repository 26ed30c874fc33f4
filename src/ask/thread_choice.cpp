#include "ask/thread_choice.h"

#include <dirent.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <utility>

namespace heaplab::ask {

namespace {

// Whether the thread waits in a system call, as /proc tells without stopping the thread.
bool waits(pid_t process, pid_t thread) {
  char path[64];
  std::snprintf(path, sizeof path, "/proc/%d/task/%d/syscall", process, thread);
  std::FILE* const file = std::fopen(path, "re");
  if (file == nullptr) return false;
  const int first = std::fgetc(file);
  std::fclose(file);
  return first >= '0' && first <= '9';  // else `running`, or -1 outside of system calls
}

}  // namespace

std::vector<pid_t> threads_of(pid_t process) {
  char path[64];
  std::snprintf(path, sizeof path, "/proc/%d/task", process);
  DIR* const folder = ::opendir(path);
  if (folder == nullptr) return {};
  std::vector<std::pair<bool, pid_t>> found;
  while (const dirent* const entry = ::readdir(folder)) {
    const pid_t thread = std::atoi(entry->d_name);
    if (thread > 0) found.emplace_back(!waits(process, thread), thread);
  }
  ::closedir(folder);
  std::ranges::stable_sort(found, {}, &std::pair<bool, pid_t>::first);
  std::vector<pid_t> threads;
  for (const auto& [_, thread] : found) threads.push_back(thread);
  return threads;
}

}  // namespace heaplab::ask
