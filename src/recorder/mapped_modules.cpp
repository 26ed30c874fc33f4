#include "recorder/mapped_modules.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstddef>

#include "recorder/build_ids.h"
#include "recorder/hexadecimal.h"
#include "recorder/own_descriptors.h"

namespace heaplab::recorder {

namespace {

// The text has an unknown size, and the system ends a program that writes beyond the limit.
bool limits_file_size() {
  rlimit limit{};
  return ::getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
}

// Whether a line START-END PERMISSIONS OFFSET DEVICE INODE PATH is of code, or of the beginning of a file.
bool matters(const char* line) {
  const char* const path = strchr(line, '/');
  const char* const permissions = strchr(line, ' ');
  return path != nullptr && permissions < path &&
         (permissions[3] == 'x' || strtoul(permissions + 5, nullptr, 16) == 0);
}

// Copies the lines that matter.
bool copy_mappings(int from, int to) {
  char text[8192];  // holds the longest line
  std::size_t held = 0;
  for (ssize_t got = 0; (got = ::read(from, text + held, sizeof text - 1 - held)) > 0;) {
    held += static_cast<std::size_t>(got);
    text[held] = '\0';
    char* line = text;
    for (char* end = nullptr; (end = strchr(line, '\n')) != nullptr; line = end + 1) {
      *end = '\0';
      const bool wanted = matters(line);
      *end = '\n';
      if (wanted && ::write(to, line, static_cast<std::size_t>(end + 1 - line)) != end + 1 - line)
        return false;
    }
    held -= static_cast<std::size_t>(line - text);
    memmove(text, line, held);
  }
  return true;
}

void append(const char* path, std::uint64_t stamp) {
  const int to = ::open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (to < 0) return;
  char line[32] = {'@'};
  char* const end = add_hex(line + 1, stamp);
  *end = '\n';
  const ssize_t bytes = end + 1 - line;
  const int from = ::open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
  if (::write(to, line, static_cast<std::size_t>(bytes)) == bytes && copy_mappings(from, to))
    append_build_ids(to);
  ::close(from);
  ::close(to);
}

}  // namespace

void append_modules(const char* path, std::uint64_t stamp) {
  if (!limits_file_size()) with_own_descriptors([=] { append(path, stamp); });
}

}  // namespace heaplab::recorder
