// The raw file of one process, as its threads wrote it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "trace/file/file_descriptor.h"
#include "trace/raw/raw_file.h"

namespace heaplab::trace {

class raw_process {
public:
  struct segment {
    std::uint64_t offset;  // of the segment's first record in the file
    std::uint32_t records;
    std::uint64_t first_stamp;
  };

  struct thread {
    std::uint64_t system_id = 0;
    std::uint64_t handle = 0;  // pthread_t of the thread
    std::uint64_t first_stamp = 0;
    std::vector<segment> segments;  // in the order in which they were written
  };

  // The header, with texts that end where the file says so.
  struct description {
    trace::stamps stamps = trace::stamps::counter;
    std::uint32_t pid = 0;
    std::uint32_t parent_pid = 0;
    bool forked = false;
    bool ended = false;
    raw_moment begin{};
    raw_moment latest{};
    std::uint64_t instructions = 0;
    std::uint64_t uncounted_threads = 0;
    std::uint64_t lost[losses] = {};
    std::uint32_t error = 0;  // of a system call, for the reason `refused`
    std::uint64_t bytes = 0;  // of the file that were handed out
    std::string allocator;
    std::string program;  // the name by which it was started
    std::string executable;
    std::string arguments;
  };

  // Throws trace_error if the file cannot be read or has no header.
  explicit raw_process(const std::string& path);

  const std::string& path() const { return path_; }
  const description& of() const { return of_; }
  // False: the process called nothing while the recording was on, and may have ended before.
  bool reached_recording() const;
  // In the order of their first stamps: thread n of the trace is threads()[n - 1].
  const std::vector<thread>& threads() const { return threads_; }

  // Calls `visit` with each block that lived when the recording began, as a record without a stamp.
  void each_lived(const std::function<void(const raw_record&)>& visit) const;

  // The code addresses of a stack, the innermost first; those that lie in no code of the process, and all
  // outward of them, are left out: the program has no frame pointers there.
  std::vector<std::uint64_t> stack(std::uint64_t site) const;

  // Reads up to `count` records at `offset` into `records`; returns the number read.
  std::size_t read(std::uint64_t offset, raw_record* records, std::size_t count) const;

private:
  void read_header();
  void read_code();
  bool is_code(std::uint64_t address) const;
  void find_segments();
  void enter_chunk(std::uint64_t offset, const raw_chunk& chunk);
  void enter_segment(const raw_record& begin, std::uint64_t offset, std::uint32_t records);

  std::string path_;
  file_descriptor file_;
  description of_;
  std::vector<raw_chunk> tables_;
  std::map<std::uint64_t, std::uint64_t>
      code_;                     // mapped code: its first addresses, and those behind its ends
  std::vector<thread> threads_;  // by the number the process gave, until they are sorted
};

}  // namespace heaplab::trace
