// Preloaded before a malloc library, refuses chosen calls of it for memory: ENOMEM, as of a process at a
// limit.
//
//   HEAPLAB_REFUSE_FROM, HEAPLAB_REFUSE_COUNT   the first refused call of mmap, mremap, munmap or madvise,
//   counted
//                                               from 1, and how many in a row; nothing is refused without
//                                               them
//   HEAPLAB_REFUSE_REPORT                       a file descriptor to write the number of calls to, at exit
//
// Calls that the C library makes itself do not come by here.
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstddef>

#include "base/compiler.h"
#include "base/text_line.h"

extern "C" char** environ;

namespace {

// Without getenv: the first call comes before the C library is ready for everything.
unsigned long setting(const char* name) {
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    std::size_t i = 0;
    while (name[i] != '\0' && (*entry)[i] == name[i]) ++i;
    if (name[i] != '\0' || (*entry)[i] != '=') continue;
    unsigned long value = 0;
    for (const char* digit = *entry + i + 1; *digit >= '0' && *digit <= '9'; ++digit)
      value = value * 10 + static_cast<unsigned long>(*digit - '0');
    return value;
  }
  return 0;
}

constinit std::atomic<unsigned long> calls = 0;

bool refused() {
  const unsigned long number = calls.fetch_add(1, std::memory_order_relaxed) + 1;
  const unsigned long first = setting("HEAPLAB_REFUSE_FROM");
  if (first == 0 || number < first || number - first >= setting("HEAPLAB_REFUSE_COUNT")) return false;
  errno = ENOMEM;
  return true;
}

[[gnu::destructor(101)]] void report() {
  const unsigned long file = setting("HEAPLAB_REFUSE_REPORT");
  if (file != 0) heaplab::text_line().add_decimal(calls.load()).write_to(static_cast<int>(file));
}

}  // namespace

extern "C" {

HEAPLAB_EXPORT void* mmap(void* address, std::size_t bytes, int protection, int flags, int file,
                          off_t offset) noexcept {
  if (refused()) return MAP_FAILED;
  return reinterpret_cast<void*>(syscall(SYS_mmap, address, bytes, protection, flags, file, offset));
}

HEAPLAB_EXPORT void* mmap64(void* address, std::size_t bytes, int protection, int flags, int file,
                            off_t offset) noexcept {
  return mmap(address, bytes, protection, flags, file, offset);
}

HEAPLAB_EXPORT void* mremap(void* address, std::size_t before, std::size_t after, int flags, ...) noexcept {
  if (refused()) return MAP_FAILED;
  va_list arguments;
  va_start(arguments, flags);
  void* const target = (flags & MREMAP_FIXED) != 0 ? va_arg(arguments, void*) : nullptr;
  va_end(arguments);
  return reinterpret_cast<void*>(syscall(SYS_mremap, address, before, after, flags, target));
}

HEAPLAB_EXPORT int munmap(void* address, std::size_t bytes) noexcept {
  return refused() ? -1 : static_cast<int>(syscall(SYS_munmap, address, bytes));
}

HEAPLAB_EXPORT int madvise(void* address, std::size_t bytes, int advice) noexcept {
  return refused() ? -1 : static_cast<int>(syscall(SYS_madvise, address, bytes, advice));
}

}  // extern "C"
