#include "recorder/stack_bounds.h"

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/bits.h"
#include "base/os_pages.h"
#include "recorder/memory_probe.h"
#include "recorder/process_file.h"
#include "recorder/system_call_filters.h"

extern "C" [[gnu::weak]] void* __libc_stack_end;  // of the main thread, known to the loader

namespace heaplab::recorder {

namespace {

// The kernel leaves at least so many bytes for the main thread's stack. The stack of another thread is walked
// no further than that.
constexpr std::uint64_t largest_stack = std::uint64_t{64} << 20;

std::uint64_t main_stack_end() {
  return &__libc_stack_end == nullptr ? 0 : reinterpret_cast<std::uint64_t>(__libc_stack_end);
}

// A thread that forked is the main thread of its child, but keeps its stack.
bool is_main_thread() {
  return this_process.epoch.load(std::memory_order_relaxed) <= 1 && ::syscall(SYS_gettid) == ::getpid();
}

}  // namespace

void stack_bounds::find(std::uint64_t within) {
  const std::uint64_t main_end = main_stack_end();
  if (within < main_end && main_end - within < largest_stack) {
    top_ = main_end;
    low_ = lowest_ = main_end - largest_stack;
  } else if (!is_main_thread()) {
    low_ = top_ = static_cast<std::uint64_t>(::pthread_self());
    lowest_ = top_ - largest_stack;
  }
}

bool stack_bounds::reaches(std::uint64_t address) {
  const std::uint64_t page = os_pages::page_bytes();
  while (address < low_ && low_ > lowest_ && may_call_system()) {
    const std::uint64_t below = align_down(low_ - 1, page);
    if (can_read(below))
      low_ = below;
    else
      lowest_ = low_;
  }
  return address >= low_;
}

}  // namespace heaplab::recorder
