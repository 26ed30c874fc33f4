#include "recorder/control_block.h"

#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

namespace heaplab::recorder {

trace::raw_control* map_control(const char* folder) {
  char name[PATH_MAX];
  constexpr char file[] = "/control";
  if (strlen(folder) + sizeof file > sizeof name) return nullptr;
  strcpy(stpcpy(name, folder), file);
  const int opened = ::open(name, O_RDWR | O_CLOEXEC);
  if (opened < 0) return nullptr;
  void* const at = ::mmap(nullptr, trace::control_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, opened, 0);
  ::close(opened);
  auto* const found = static_cast<trace::raw_control*>(at);
  return at == MAP_FAILED || found->magic != trace::control_magic ? nullptr : found;
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
