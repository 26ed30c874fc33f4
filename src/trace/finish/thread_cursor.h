// The records of one thread, one after another; a small window of them is in memory.
#pragma once

#include <cstdint>
#include <vector>

#include "trace/finish/raw_process.h"

namespace heaplab::trace {

class thread_cursor {
public:
  // Both must outlive this object.
  thread_cursor(const raw_process& process, const raw_process::thread& thread)
      : process_(&process), thread_(&thread) {}

  // False at the end. Stamps do not descend; a failed reallocation is reported without its release;
  // thread_begin comes once.
  bool next(raw_record& record);

private:
  bool read(raw_record& record);
  bool refill();

  const raw_process* process_;
  const raw_process::thread* thread_;
  std::size_t segment_ = 0;
  std::uint32_t taken_ = 0;  // records read of the present segment
  std::vector<raw_record> window_;
  std::size_t at_ = 0;
  std::uint64_t stamp_ = 0;
  bool begun_ = false;
  bool held_back_ = false;
  raw_record held_{};
};

}  // namespace heaplab::trace
