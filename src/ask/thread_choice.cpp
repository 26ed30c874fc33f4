#include "ask/thread_choice.h"

#include <dirent.h>

#include <cstdio>
#include <cstring>
#include <string_view>

#include "ask/numbers_in_text.h"

namespace heaplab::ask {

namespace {

// The state of a thread, such as S for one that waits; 0 if it has ended.
char state_of(pid_t process, pid_t thread) {
  char path[64];
  std::snprintf(path, sizeof path, "/proc/%d/task/%d/stat", process, thread);
  std::FILE* const file = std::fopen(path, "re");
  if (file == nullptr) return 0;
  char line[512] = "";
  const bool is_read = std::fgets(line, sizeof line, file) != nullptr;
  std::fclose(file);
  const char* const name_end = std::strrchr(line, ')');  // the name of a thread may hold anything
  return is_read && name_end != nullptr && name_end[1] == ' ' ? name_end[2] : '\0';
}

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

std::vector<pid_t> all_threads_of(pid_t process) {
  char path[64];
  std::snprintf(path, sizeof path, "/proc/%d/task", process);
  DIR* const folder = ::opendir(path);
  if (folder == nullptr) return {};
  std::vector<pid_t> found;
  while (const dirent* const entry = ::readdir(folder)) {
    std::string_view name = entry->d_name;
    if (const auto thread = take_number<pid_t>(name)) found.push_back(*thread);
  }
  ::closedir(folder);
  return found;
}

bool has_ended(pid_t process, pid_t thread) {
  return std::strchr("ZX", state_of(process, thread)) != nullptr;
}

std::optional<std::uint64_t> number_in_status(pid_t process, pid_t thread, std::string_view name, int base) {
  char path[64];
  std::snprintf(path, sizeof path, "/proc/%d/task/%d/status", process, thread);
  std::FILE* const file = std::fopen(path, "re");
  if (file == nullptr) return std::nullopt;
  std::optional<std::uint64_t> found;
  char line[256];
  while (!found && std::fgets(line, sizeof line, file) != nullptr) {
    std::string_view text = line;
    if (!text.starts_with(name)) continue;
    text.remove_prefix(name.size());
    found = take_number<std::uint64_t>(text, base);
  }
  std::fclose(file);
  return found;
}

std::vector<pid_t> threads_of(pid_t process) {
  std::vector<pid_t> waiting, others;
  for (const pid_t thread : all_threads_of(process)) {
    // One that waits for a disk or for its child (D) would stop only afterwards, for as long as this program
    // runs.
    if (const char state = state_of(process, thread); state == 'S' || state == 'R')
      (waits(process, thread) ? waiting : others).push_back(thread);
  }
  waiting.insert(waiting.end(), others.begin(), others.end());
  return waiting;
}

}  // namespace heaplab::ask
