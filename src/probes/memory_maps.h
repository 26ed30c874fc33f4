// The address space of this process by what it is for, read from /proc/self/maps without allocating.
#pragma once

#include <cstdint>
#include <string_view>

namespace heaplab::probes {

// Bytes of addresses, resident or not.
struct mapped_memory {
  std::uint64_t heap = 0;   // [heap], and nameless areas that begin where it ends
  std::uint64_t files = 0;  // of files other than the program: libraries, and shared memory
  std::uint64_t mmap = 0;   // of no file: mappings of the allocator, of libraries, stacks of threads

  std::uint64_t total() const { return heap + files + mmap; }
};

// Adds up lines of /proc/self/maps, in their order.
class maps_reader {
public:
  // `program`: path of the executable, whose areas count for nothing.
  explicit maps_reader(std::string_view program) : program_(program) {}

  void add_line(std::string_view line);
  const mapped_memory& sum() const { return sum_; }

private:
  std::string_view program_;
  std::uint64_t heap_end_ = 0;
  mapped_memory sum_;
};

// All areas of the process but its text and data, the main thread's stack and what the kernel maps. Costs
// some microseconds an area. An empty sum where /proc is not mounted.
mapped_memory read_memory_maps();

}  // namespace heaplab::probes
