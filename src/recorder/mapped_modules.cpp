#include "recorder/mapped_modules.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "recorder/build_ids.h"
#include "recorder/process_file.h"

namespace heaplab::recorder {

namespace {

// note_modules writes a text of unknown size, and the system ends a program that writes beyond the limit.
bool limits_file_size() {
  rlimit limit{};
  return ::getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
}

}  // namespace

void note_modules(const char* path) {
  // After the end of the recording, nothing may appear in its folder.
  if (limits_file_size() || recording_state() != trace::recording::on) return;
  const int from = ::open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
  const int to = ::open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
  char piece[2048];
  for (ssize_t got = 0; to >= 0 && (got = ::read(from, piece, sizeof piece)) > 0;)
    if (::write(to, piece, static_cast<std::size_t>(got)) != got) break;
  ::close(from);
  if (to >= 0) append_build_ids(to);
  ::close(to);
}

}  // namespace heaplab::recorder
