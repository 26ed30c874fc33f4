#include "workloads/harness/destination.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "probes/write_whole.h"
#include "workloads/harness/usage_error.h"

namespace heaplab::harness {

namespace {

// The descriptor N of "fd:N", or -1 with errno set.
int numbered(std::string_view digits) {
  int file = -1;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), file);
  if (error != std::errc() || end != digits.data() + digits.size() || file < 0) file = -1;
  return ::fcntl(file, F_GETFD) < 0 ? -1 : file;
}

// The mode of the file to be replaced or, if there is none, that of a new file.
mode_t mode_of(const char* path) {
  struct stat status;
  if (::stat(path, &status) == 0) return status.st_mode & 07777;
  const mode_t mask = ::umask(0);
  ::umask(mask);
  return 0666 & ~mask;
}

// Returns 0 or an errno. fsync, because some file systems notice a full disk only when they write to it.
int write_new(std::string_view text, int file, mode_t mode) {
  int error = probes::write_whole(file, text);
  if (error == 0 && (::fchmod(file, mode) != 0 || ::fsync(file) != 0)) error = errno;
  if (::close(file) != 0 && error == 0) error = errno;
  return error;
}

int replace(const char* path, std::string_view text) {
  std::string beside = std::string(path) + ".XXXXXX";
  const int file = ::mkostemp(beside.data(), O_CLOEXEC);
  if (file < 0) return errno;
  int error = write_new(text, file, mode_of(path));
  if (error == 0 && std::rename(beside.c_str(), path) != 0) error = errno;
  if (error != 0) ::unlink(beside.c_str());
  return error;
}

}  // namespace

destination::destination(const char* option, const std::string& where) : option_(option), where_(where) {
  if (where.empty()) return;
  std::error_code unknown;
  if (where == "-") {
    file_ = STDOUT_FILENO;
  } else if (where.starts_with("fd:")) {
    file_ = numbered(std::string_view(where).substr(3));
  } else if (const auto kind = std::filesystem::status(where, unknown).type();
             kind == std::filesystem::file_type::regular || kind == std::filesystem::file_type::not_found) {
    const std::filesystem::path target =
        std::filesystem::weakly_canonical(std::filesystem::absolute(where), unknown);
    const bool there = kind == std::filesystem::file_type::regular;
    if (::access(target.parent_path().c_str(), W_OK | X_OK) == 0 &&
        (!there || ::access(target.c_str(), W_OK) == 0))
      path_ = target;
  } else {
    file_ = ::open(where.c_str(), O_WRONLY | O_CLOEXEC);  // a device or a pipe; opening a directory fails
  }
  if (!wanted())
    throw usage_error(std::string(option_) + ": cannot write to '" + where + "': " + std::strerror(errno));
}

bool destination::is_standard_output() const {
  return file_ == STDOUT_FILENO;
}

void destination::write(std::string_view text) const {
  sigset_t all, before;  // signals are blocked, so that no temporary file stays behind
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const int error = path_.empty() ? probes::write_whole(file_, text) : replace(path_.c_str(), text);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (error != 0)
    throw run_error(std::string(option_) + ": writing to '" + where_ + "' failed: " + std::strerror(error));
}

}  // namespace heaplab::harness
