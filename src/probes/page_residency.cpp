#include "probes/page_residency.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

namespace heaplab::probes {

namespace {

constexpr std::uint64_t present = std::uint64_t{1} << 63;  // Documentation/admin-guide/mm/pagemap.rst

}  // namespace

page_residency::page_residency() : file_(::open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC)) {
  if (file_ < 0) throw std::system_error(errno, std::generic_category(), "/proc/self/pagemap");
}

page_residency::~page_residency() {
  ::close(file_);
}

bool page_residency::is_resident(std::uintptr_t page) {
  if (page - first_ >= entries_) read_from(page);
  return page - first_ < entries_ && (entry_[page - first_] & present) != 0;
}

std::size_t page_residency::resident(std::uintptr_t first, std::size_t count) {
  std::size_t found = 0;
  for (std::uintptr_t page = first; page < first + count;) {
    if (page - first_ >= entries_) read_from(page);
    if (entries_ == 0) break;
    const std::size_t begin = page - first_;
    const std::size_t end = std::min<std::size_t>(entries_, begin + (first + count - page));
    for (std::size_t at = begin; at < end; ++at) found += (entry_[at] & present) != 0 ? 1 : 0;
    page += end - begin;
  }
  return found;
}

void page_residency::read_from(std::uintptr_t page) {
  const auto offset = static_cast<off_t>(page * sizeof entry_[0]);
  const ssize_t got = ::pread(file_, entry_.data(), sizeof entry_, offset);
  first_ = page;
  entries_ = got > 0 ? static_cast<std::size_t>(got) / sizeof entry_[0] : 0;
}

}  // namespace heaplab::probes
