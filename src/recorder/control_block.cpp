#include "recorder/control_block.h"

#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

namespace heaplab::recorder {

trace::raw_control* map_control(const char* folder, trace::raw_control* at) {
  char name[PATH_MAX];
  constexpr char file[] = "/control";
  if (strlen(folder) + sizeof file > sizeof name) return nullptr;
  strcpy(stpcpy(name, folder), file);
  const int opened = ::open(name, O_RDWR | O_CLOEXEC);
  if (opened < 0) return nullptr;
  trace::raw_control first;
  const bool is_control = ::pread(opened, &first, sizeof first, 0) == static_cast<ssize_t>(sizeof first) &&
                          first.magic == trace::control_magic;
  const int flags = MAP_SHARED | (at == nullptr ? 0 : MAP_FIXED);
  void* const made =
      is_control ? ::mmap(at, trace::control_bytes, PROT_READ | PROT_WRITE, flags, opened, 0) : MAP_FAILED;
  ::close(opened);
  return made == MAP_FAILED ? nullptr : static_cast<trace::raw_control*>(made);
}

bool take_from_limit(trace::raw_control& control, std::size_t bytes) {
  const std::uint64_t before = control.bytes.fetch_add(bytes, std::memory_order_relaxed);
  if (control.most_bytes == 0 || before + bytes <= control.most_bytes) return true;
  give_back_to_limit(control, bytes);
  return false;
}

void give_back_to_limit(trace::raw_control& control, std::size_t bytes) {
  control.bytes.fetch_sub(bytes, std::memory_order_relaxed);
}

}  // namespace heaplab::recorder
