// The memory of this process, read from /proc without allocating.
#pragma once

#include <cstdint>
#include <optional>

namespace heaplab::probes {

// All in bytes. Kernels before 6.17 keep these counters per processor and may be off by some 128 KiB per
// processor; newer kernels add them up exactly when /proc/self/status is read.
struct memory_reading {
  std::uint64_t anonymous = 0;      // RssAnon: resident pages of no file: heap, stacks, written data
  std::uint64_t resident = 0;       // VmRSS: RssAnon, files and shared memory
  std::uint64_t peak_resident = 0;  // VmHWM: the highest VmRSS so far
  std::uint64_t page_tables = 0;    // VmPTE: the price of sparse address space
  std::uint64_t virtual_size = 0;   // VmSize: mapped address space

  // The highest anonymous memory so far, assuming that as much of files was resident at the peak as is now.
  std::uint64_t peak_anonymous() const { return peak_resident - (resident - anonymous); }
};

// Keeps /proc/self/status open; a reading costs some 10 us. Used by one thread at a time.
class process_memory {
public:
  // Throws std::system_error where /proc is not mounted.
  process_memory();
  ~process_memory();
  process_memory(const process_memory&) = delete;
  process_memory& operator=(const process_memory&) = delete;

  memory_reading read() const;

private:
  int status_;
};

// Proportional set size in bytes: each resident page divided by the number of processes that share it. The
// kernel walks all page tables of the process, so call this rarely. Absent on kernels before 4.14.
std::optional<std::uint64_t> proportional_set_size();

}  // namespace heaplab::probes
