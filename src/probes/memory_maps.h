// The address space of this process by purpose, read from /proc/self/maps without allocating.
#pragma once

#include <cstdint>
#include <string_view>

namespace heaplab::probes {

// Bytes of address space, whether resident or not.
struct mapped_memory {
  std::uint64_t heap = 0;   // [heap], and nameless areas that begin where it ends
  std::uint64_t files = 0;  // mapped files other than the program: libraries, and shared memory
  std::uint64_t mmap = 0;   // anonymous mappings: of the allocator, of libraries, stacks of threads

  std::uint64_t total() const { return heap + files + mmap; }
};

// Adds up lines of /proc/self/maps, given in their order.
class maps_reader {
public:
  // `program` is the path of the executable, whose areas are not counted.
  explicit maps_reader(std::string_view program) : program_(program) {}

  void add_line(std::string_view line);
  const mapped_memory& sum() const { return sum_; }

private:
  std::string_view program_;
  std::uint64_t heap_end_ = 0;
  mapped_memory sum_;
};

// All areas of the process except the program's text and data, the stack of the main thread, and areas mapped
// by the kernel. Costs some microseconds for each area. Returns zeros where /proc is not mounted.
mapped_memory read_memory_maps();

}  // namespace heaplab::probes
