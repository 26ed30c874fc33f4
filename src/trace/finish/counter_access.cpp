#include "trace/finish/counter_access.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "base/instruction_counter.h"
#include "probes/small_file.h"

namespace heaplab::trace {

namespace {

constexpr const char* counters = "/sys/bus/event_source/devices";

// Switches that are 0 where programs may not read their counters by an instruction: of AArch64, of x86-64.
constexpr const char* switches[] = {"/proc/sys/kernel/perf_user_access",
                                    "/sys/bus/event_source/devices/cpu/rdpmc"};

// The kernel has counters for each kind of core, with a file `cpus` that names the cores.
bool has_several_kinds_of_cores(const std::string& root) {
  std::error_code none;
  const auto is_of_cores = [](const auto& found) { return std::filesystem::exists(found.path() / "cpus"); };
  return std::ranges::count_if(std::filesystem::directory_iterator(root + counters, none), is_of_cores) > 1;
}

bool is_off(const std::string& path) {
  char text[16];
  return probes::read_small_file(path.c_str(), text, sizeof text).starts_with('0');
}

}  // namespace

std::string why_not_counted() {
  instruction_counter counter;
  const int error = counter.open() ? 0 : errno;
  counter.close();
  return why_not_counted(error, "");
}

std::string why_not_counted(int error, const std::string& root) {
  if (has_several_kinds_of_cores(root)) return "a thread counts on one kind of its cores alone";
  if (error == 0) return "";
  if (error == ENOTSUP) {
    for (const char* const path : switches)
      if (is_off(root + path)) return std::string(path) + " is 0: programs may read them once it is 1";
    return "programs may not read them, or others have taken them all";
  }
  const std::string fault = "perf_event_open: " + std::string(std::strerror(error));
  if (error == EACCES || error == EPERM)
    return fault + "; /proc/sys/kernel/perf_event_paranoid above 2 and many containers forbid them";
  return fault + "; many virtual machines have none";
}

}  // namespace heaplab::trace
