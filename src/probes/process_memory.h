// What this process occupies, read from /proc without allocating.
#pragma once

#include <cstdint>
#include <optional>

namespace heaplab::probes {

// All in bytes. Kernels before 6.17 keep these counters by processor and may be off by some 128 KiB a
// processor; newer ones add them up exactly when /proc/self/status is read.
struct memory_reading {
  std::uint64_t anonymous = 0;      // RssAnon: resident, of no file; the heap, stacks, written data
  std::uint64_t resident = 0;       // VmRSS: with files and shared memory
  std::uint64_t peak_resident = 0;  // VmHWM: the highest VmRSS so far
  std::uint64_t page_tables = 0;    // VmPTE: the price of sparse use of addresses
  std::uint64_t virtual_size = 0;   // VmSize: addresses held

  // The highest anonymous memory so far, taking files to have been resident then as they are now.
  std::uint64_t peak_anonymous() const { return peak_resident - (resident - anonymous); }
};

// Keeps /proc/self/status open; a reading costs some 10 us. Use by one thread at a time.
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

// Proportional set size in bytes: resident pages, each divided by the processes that share it. Walks all
// page tables of the process, hence on demand only; absent where the kernel does not tell (before 4.14).
std::optional<std::uint64_t> proportional_set_size();

}  // namespace heaplab::probes
