#pragma once

#include <linux/perf_event.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "base/errno_keeper.h"
#include "base/processor_counter.h"

namespace heaplab {

// What the kernel's page about a counter says now (perf_event_open(2), "mmap layout"). `hardware(index)` is
// what the processor's counter holds, of which the kernel's count is the part before. Nothing if the event
// has no counter that user space may read: the kernel's count alone is that of the thread's last switch.
template <class Hardware>
std::optional<std::uint64_t> count_in(const perf_event_mmap_page& page, Hardware hardware) {
  // The kernel changes the page between two changes of `lock`, always on the processor of this thread: no
  // more than the compiler must be kept from moving the accesses.
  const auto now = [](const std::uint32_t& in) { return *static_cast<const volatile std::uint32_t*>(&in); };
  std::optional<std::uint64_t> count;
  std::uint32_t before = 0;
  do {
    before = now(page.lock);
    std::atomic_signal_fence(std::memory_order_seq_cst);
    count.reset();
    const std::uint32_t index = now(page.index);
    if (page.cap_user_rdpmc != 0 && processor_counter::has(index)) {
      const unsigned unused_bits = 64U - page.pmc_width;
      const auto shifted = static_cast<std::int64_t>(hardware(index) << unused_bits);
      count = static_cast<std::uint64_t>(page.offset) + static_cast<std::uint64_t>(shifted >> unused_bits);
    }
    std::atomic_signal_fence(std::memory_order_seq_cst);
  } while (now(page.lock) != before);
  return count;
}

// Counts the instructions that the calling thread executes in user mode, where the processor has a counter
// and the system lends it. Reading takes no system call. A child of fork has no copy of the page: a counter
// of its parent must not be used there.
class instruction_counter {
public:
  // False, and errno: there is no counter for this thread. ENOTSUP: there is one, and user space may not read
  // it, or others have taken all counters of the processor.
  bool open() {
    perf_event_attr wanted{};
    wanted.size = sizeof wanted;
    wanted.type = PERF_TYPE_HARDWARE;
    wanted.config = PERF_COUNT_HW_INSTRUCTIONS;
    wanted.config1 = processor_counter::config_of_user_access;
    wanted.exclude_kernel = wanted.exclude_hv = 1;
    wanted.pinned = 1;  // all the time, or not at all
    const long event = ::syscall(SYS_perf_event_open, &wanted, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
    if (event < 0) return false;
    void* const at = ::mmap(nullptr, page_bytes, PROT_READ, MAP_SHARED, static_cast<int>(event), 0);
    {
      const errno_keeper keep;
      ::close(static_cast<int>(event));  // the page keeps the counter
    }
    if (at == MAP_FAILED) return false;
    page_ = static_cast<const perf_event_mmap_page*>(at);
    taken_ = 0;
    if (take()) return true;
    errno = ENOTSUP;
    return false;
  }

  void close() {
    if (page_ != nullptr) ::munmap(const_cast<perf_event_mmap_page*>(page_), page_bytes);
    page_ = nullptr;
  }

  // What the thread has executed since open() or the last take(); 0 if the counter is not open. Nothing if
  // the system has taken the counter away, for good: this call closes it. Precondition: no other thread, and
  // not the parent of this process, opened the counter.
  std::optional<std::uint64_t> take() {
    if (page_ == nullptr) return 0;
    const std::optional<std::uint64_t> now = count_in(*page_, processor_counter::read);
    if (!now) {
      close();
      return std::nullopt;
    }
    return *now - std::exchange(taken_, *now);
  }

private:
  static constexpr std::size_t page_bytes = 4096;

  const perf_event_mmap_page* page_ = nullptr;
  std::uint64_t taken_ = 0;
};

}  // namespace heaplab
