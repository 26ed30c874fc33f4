#include "probes/write_whole.h"

#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace heaplab::probes {

namespace {

// Returns 0 or the errno.
int write_all(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(file, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

}  // namespace

int write_whole(int file, std::string_view text) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  struct stat status;
  const bool regular = ::fstat(file, &status) == 0 && S_ISREG(status.st_mode);
  const int error = write_all(file, text);
  // If the file cannot be cut back either, nothing better is left to do.
  if (error != 0 && regular) [[maybe_unused]]
    const int ignored = ::ftruncate(file, status.st_size);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return error;
}

}  // namespace heaplab::probes
