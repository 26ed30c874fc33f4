#include "recorder/output_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/assertion.h"
#include "base/bits.h"
#include "base/os_pages.h"
#include "recorder/memory_probe.h"
#include "recorder/own_descriptors.h"

namespace heaplab::recorder {

namespace {

using trace::loss;

constexpr std::uint64_t largest_file = std::uint64_t{1} << 40;
constexpr std::size_t usual_window = std::size_t{64} << 20;
// Where the address space of the program is limited: one chunk of the largest size.
constexpr std::size_t narrow_window = std::size_t{1} << 20;

rlim_t limit_of(int resource) {
  rlimit limit{};
  return ::getrlimit(static_cast<__rlimit_resource>(resource), &limit) == 0 ? limit.rlim_cur : RLIM_INFINITY;
}

refusal refusal_of(int error) {
  switch (error) {
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
      return {loss::disk_full, error};
    case ENOMEM:
      return {loss::no_memory, error};
    default:
      return {loss::refused, error};
  }
}

// As long as the file system and the limit of file sizes let it be; 0, with errno: not long enough for use.
// Beyond the limit the system would send SIGXFSZ, which ends the program.
std::uint64_t lengthen(int descriptor) {
  std::uint64_t bytes =
      align_down(std::min<std::uint64_t>(largest_file, limit_of(RLIMIT_FSIZE)), trace::raw_unit);
  while (bytes >= trace::raw_header_bytes && ::ftruncate(descriptor, static_cast<off_t>(bytes)) != 0) {
    if (errno != EFBIG && errno != EINVAL) return 0;
    bytes = align_down(bytes / 2, trace::raw_unit);
  }
  if (bytes >= trace::raw_header_bytes) return bytes;
  errno = EFBIG;
  return 0;
}

// Allocates disk blocks. On a full disk a store would raise SIGBUS; a system call that stores fails instead.
// Returns 0 or the error.
int allocate_blocks(char* from, std::size_t bytes) {
  if (::madvise(from, bytes, MADV_POPULATE_WRITE) == 0) return 0;  // since Linux 5.14
  if (errno != EINVAL) return errno == EFAULT ? ENOSPC : errno;
  for (std::size_t at = 0; at < bytes; at += os_pages::page_bytes())
    if (!can_write(from + at)) return ENOSPC;
  return 0;
}

}  // namespace

bool output_file::create(const char* path, refusal& refused) {
  const std::size_t page = os_pages::page_bytes();
  window_bytes_ = limit_of(RLIMIT_AS) == RLIM_INFINITY ? usual_window : narrow_window;
  int error = 0;
  char* first = nullptr;
  const bool ran = with_own_descriptors([&] {
    const int descriptor = ::open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (descriptor < 0) return void(error = errno);
    file_bytes_ = lengthen(descriptor);
    void* at = MAP_FAILED;
    if (file_bytes_ != 0)
      at = ::mmap(nullptr, window_bytes_ + page, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    error = errno;
    ::close(descriptor);
    if (at != MAP_FAILED && ::madvise(at, window_bytes_ + page, MADV_DONTFORK) == 0)
      first = static_cast<char*>(at);
    else
      ::unlink(path);
  });
  if (first == nullptr) return refused = refusal_of(ran ? error : errno), false;
  windows_[0].store(first, std::memory_order_release);
  return true;
}

void output_file::discard(const char* path) {
  ::munmap(windows_[0].load(std::memory_order_relaxed), window_bytes_ + os_pages::page_bytes());
  windows_[0].store(nullptr, std::memory_order_relaxed);
  ::unlink(path);
}

void output_file::forget() {
  // Most pages of the table were never written: storing into them would cost each child memory.
  for (atomic<char*>& window : windows_)
    if (window.load(std::memory_order_relaxed) != nullptr) window.store(nullptr, std::memory_order_relaxed);
}

std::uint64_t output_file::place_for(std::uint64_t offset, std::size_t bytes) const {
  offset = align_up(offset, os_pages::page_bytes());
  const bool fits = offset % window_bytes_ + bytes <= window_bytes_;
  return fits || bytes > window_bytes_ ? offset : align_up(offset, window_bytes_);
}

void* output_file::map(std::uint64_t offset, std::size_t bytes, refusal& refused) {
  HEAPLAB_ASSERT(windows_[0].load(std::memory_order_relaxed) != nullptr &&
                 place_for(offset, bytes) == offset);
  if (offset + bytes > file_bytes_) return refused = {loss::disk_full, EFBIG}, nullptr;
  const bool apart = bytes > window_bytes_;
  char* const from = apart ? static_cast<char*>(map_anew(offset, bytes)) : window(offset / window_bytes_);
  if (from == nullptr) return refused = refusal_of(errno), nullptr;
  char* const piece = apart ? from : from + offset % window_bytes_;
  const int error = allocate_blocks(piece, bytes);
  if (error == 0) return piece;
  refused = refusal_of(error);
  ::madvise(piece, bytes, MADV_REMOVE);  // gives the blocks back that were allocated before the error
  if (apart) ::munmap(piece, bytes);
  return nullptr;
}

// Maps a part of the file from the nearest page before it that is mapped. The mapping has the flags of the
// first one. Null, with errno: refused.
void* output_file::map_anew(std::uint64_t offset, std::size_t bytes) {
  std::size_t number = std::min<std::size_t>(offset / window_bytes_, most_windows);
  char* page = windows_[0].load(std::memory_order_acquire);
  for (; number > 0; --number)
    if (char* const before = windows_[number - 1].load(std::memory_order_acquire)) {
      page = before + window_bytes_;
      break;
    }
  const std::size_t ahead = offset - number * window_bytes_;
  void* const made = ::mremap(page, 0, ahead + bytes, MREMAP_MAYMOVE);
  if (made == MAP_FAILED) return nullptr;
  if (ahead != 0) ::munmap(made, ahead);
  return static_cast<char*>(made) + ahead;
}

char* output_file::window(std::size_t number) {
  if (number >= most_windows) return errno = ENOMEM, nullptr;
  char* found = windows_[number].load(std::memory_order_acquire);
  if (found != nullptr) return found;
  const std::size_t bytes = window_bytes_ + os_pages::page_bytes();
  auto* const made = static_cast<char*>(map_anew(number * window_bytes_, bytes));
  if (made == nullptr) return nullptr;
  // Another thread may have mapped the window meanwhile: then its mapping counts.
  if (windows_[number].compare_exchange_strong(found, made, std::memory_order_release,
                                               std::memory_order_acquire))
    return made;
  ::munmap(made, bytes);
  return found;
}

}  // namespace heaplab::recorder
