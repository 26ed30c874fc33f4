#include "probes/perf_counters.h"

#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace heaplab::probes {

namespace {

struct event {
  std::uint32_t type;
  std::uint64_t config;
};

constexpr std::uint64_t dtlb_load_misses =
    PERF_COUNT_HW_CACHE_DTLB | (PERF_COUNT_HW_CACHE_OP_READ << 8) | (PERF_COUNT_HW_CACHE_RESULT_MISS << 16);

// In the order of perf_counters::names.
constexpr std::array<event, perf_counters::names.size()> events{{
    {PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS},
    {PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES},
    {PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES},
    {PERF_TYPE_HW_CACHE, dtlb_load_misses},
    {PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES},
}};

int open_counter(const event& which) {
  perf_event_attr attributes{};
  attributes.size = sizeof attributes;
  attributes.type = which.type;
  attributes.config = which.config;
  attributes.disabled = 1;
  attributes.inherit = 1;
  // user mode only: an ordinary user may count no more, and all users get the same figure
  attributes.exclude_kernel = 1;
  attributes.exclude_hv = 1;
  attributes.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
  return static_cast<int>(::syscall(SYS_perf_event_open, &attributes, 0, -1, -1, PERF_FLAG_FD_CLOEXEC));
}

}  // namespace

perf_counters::perf_counters() {
  for (std::size_t index = 0; index < events.size(); ++index) files_[index] = open_counter(events[index]);
}

perf_counters::~perf_counters() {
  for (const int file : files_) {
    if (file >= 0) ::close(file);
  }
}

void perf_counters::control(unsigned long request) {
  for (const int file : files_) {
    if (file >= 0) ::ioctl(file, request, 0);
  }
}

void perf_counters::start() {
  control(PERF_EVENT_IOC_ENABLE);
}

void perf_counters::stop() {
  control(PERF_EVENT_IOC_DISABLE);
}

std::optional<double> perf_counters::count(std::size_t index) const {
  struct {
    std::uint64_t value, time_enabled, time_running;
  } reading;
  if (files_[index] < 0 || ::read(files_[index], &reading, sizeof reading) != sizeof reading ||
      reading.time_running == 0)
    return std::nullopt;
  return static_cast<double>(reading.value) * static_cast<double>(reading.time_enabled) /
         static_cast<double>(reading.time_running);
}

}  // namespace heaplab::probes
