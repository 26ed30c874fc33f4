#include "probes/process_memory.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>
#include <system_error>

#include "probes/small_file.h"

namespace heaplab::probes {

namespace {

constexpr std::uint64_t kib = 1024;  // the "kB" of /proc

}  // namespace

process_memory::process_memory() : status_(::open("/proc/self/status", O_RDONLY | O_CLOEXEC)) {
  if (status_ < 0) throw std::system_error(errno, std::generic_category(), "/proc/self/status");
}

process_memory::~process_memory() {
  ::close(status_);
}

memory_reading process_memory::read() const {
  char buffer[4096];
  const std::string_view text = read_small_file(status_, buffer, sizeof buffer);
  const auto bytes = [&](std::string_view label) { return number_after(text, label).value_or(0) * kib; };
  return {.anonymous = bytes("\nRssAnon:"),
          .resident = bytes("\nVmRSS:"),
          .peak_resident = bytes("\nVmHWM:"),
          .page_tables = bytes("\nVmPTE:"),
          .virtual_size = bytes("\nVmSize:")};
}

std::optional<std::uint64_t> proportional_set_size() {
  char buffer[4096];
  const auto number =
      number_after(read_small_file("/proc/self/smaps_rollup", buffer, sizeof buffer), "\nPss:");
  if (!number) return std::nullopt;
  return *number * kib;
}

}  // namespace heaplab::probes
