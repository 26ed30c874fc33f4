#include "recorder/output_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

namespace heaplab::recorder {

namespace {

// A high number: programs close, poll or duplicate onto low ones.
constexpr int preferred_descriptor = 900;

int moved_out_of_the_way(int descriptor) {
  const int high = ::fcntl(descriptor, F_DUPFD_CLOEXEC, preferred_descriptor);
  if (high < 0) return descriptor;
  ::close(descriptor);
  return high;
}

// For a write beyond the limit the system sends SIGXFSZ, which ends the program.
bool within_limit(std::uint64_t end) {
  rlimit limit{};
  return ::getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY || end <= limit.rlim_cur;
}

}  // namespace

bool output_file::create(const char* path) {
  struct stat status{};
  const int descriptor = ::open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (descriptor < 0) return false;
  path_ = path;
  descriptor_ = moved_out_of_the_way(descriptor);
  if (::fstat(descriptor_, &status) != 0) return false;
  device_ = status.st_dev;
  inode_ = status.st_ino;
  return true;
}

bool output_file::is_ours(int descriptor) const {
  struct stat status{};
  return descriptor >= 0 && ::fstat(descriptor, &status) == 0 && status.st_dev == device_ &&
         status.st_ino == inode_;
}

// The program may have closed the descriptor, and may have opened a file of its own under the number.
bool output_file::open_again() {
  const int descriptor = ::open(path_, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
  if (descriptor < 0) return false;
  descriptor_ = moved_out_of_the_way(descriptor);
  return is_ours(descriptor_);
}

void* output_file::map(std::uint64_t offset, std::size_t bytes, trace::loss& why) {
  why = trace::loss::file_refused;
  if (!is_ours(descriptor_) && !open_again()) return nullptr;
  why = trace::loss::disk_full;
  if (!within_limit(offset + bytes) ||
      ::posix_fallocate(descriptor_, static_cast<off_t>(offset), static_cast<off_t>(bytes)) != 0)
    return nullptr;
  why = trace::loss::no_memory;
  void* const at =
      ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor_, static_cast<off_t>(offset));
  if (at == MAP_FAILED) return nullptr;
  if (::madvise(at, bytes, MADV_DONTFORK) == 0) return at;
  ::munmap(at, bytes);
  return nullptr;
}

}  // namespace heaplab::recorder
