// What a process writes while it is recorded. Not a format for others: heaplab's own recorder writes it, and
// the trace file (docs/trace-format.md) is made of it when the program has ended.
//
// A folder holds `control`, which all processes of a recording share, and a file for each process: a header,
// then chunks, each filled by one thread at a time. All memory is mapped and shared, so that what was written
// is in the file whatever becomes of the process.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/atomic.h"
#include "trace/event.h"

namespace heaplab::trace {

enum class stamps : std::uint32_t {
  counter = 1,  // of the processor, the same on all processors
  tickets = 2,  // numbers handed out by one counter of the process
};

enum class recording : std::uint32_t {
  off = 0,  // calls pass and are not counted
  on = 1,
};

// Why a call was not recorded.
enum class loss : std::uint32_t {
  nested,        // made within another allocation function, as by a signal handler
  size_limit,    // the recording has the size it may have
  disk_full,     // the system gave no room for a chunk
  no_memory,     // the system mapped no chunk
  file_refused,  // the process could not create its file
  count
};
inline constexpr std::size_t losses = static_cast<std::size_t>(loss::count);

inline constexpr std::uint64_t control_magic = 0x316C6F72746E6F63;  // "control1"
inline constexpr std::size_t control_bytes = 4096;

// Written by `heaplab record`, python/heaplab/traces/control.py.
struct raw_control {
  std::uint64_t magic;
  trace::stamps stamps;
  atomic<trace::recording> state;      // relaxed: takes effect soon, orders nothing
  std::uint64_t most_bytes;            // of all files together; 0: no limit
  atomic<std::uint64_t> bytes;         // handed out; relaxed: a count
  atomic<std::uint64_t> without_file;  // calls of processes that have no file; relaxed: a count
  std::uint64_t begins_late;           // 1: processes run for a while before they are recorded
};
static_assert(sizeof(raw_control) == 48);

inline constexpr std::uint64_t raw_magic = 0x3177617270616568;  // "heapraw1"
inline constexpr std::size_t raw_header_bytes = 16384;
inline constexpr std::size_t raw_unit = 16384;  // chunks are multiples of it and begin at one

struct raw_moment {
  std::uint64_t stamp;
  std::uint64_t monotonic_ns;
  std::uint64_t unix_ns;
};

struct raw_header {
  std::uint64_t magic;
  trace::stamps stamps;
  std::uint32_t pid;
  std::uint32_t parent_pid;
  std::uint32_t forked;  // 1: began as a copy of its parent, whose blocks it has
  raw_moment begin;
  raw_moment latest;              // when the last chunk was handed out, or the process ended
  std::uint32_t ended;            // 1: the library's destructors ran
  atomic<std::uint32_t> threads;  // numbers given to threads; relaxed: only the number matters
  atomic<std::uint64_t> bytes;  // of the file handed out; relaxed: the chunk's own header says what it holds
  // Calls not recorded, by reason; a cache line for each of some groups of threads. relaxed: counts.
  static constexpr std::size_t stripes = 16;
  struct alignas(64) stripe {
    atomic<std::uint64_t> calls[losses];
  } lost[stripes];
  char allocator[1024];  // paths and texts end with a zero byte
  char program[4096];
  char arguments[8192];  // each ends with a zero byte, the last with two
};
static_assert(sizeof(raw_header) <= raw_header_bytes);

inline constexpr std::uint32_t chunk_magic = 0x4B4E4843;  // "CHNK"

struct raw_chunk {
  std::uint32_t magic;      // written last
  std::uint32_t bytes;      // with this header
  std::uint64_t offset;     // in the file
  std::uint32_t next;       // record to go on with, where a thread handed the chunk on
  std::uint32_t handed_on;  // 1: records of several threads; each begins with thread_begin
  std::uint64_t unused;
};

// Valid when its stamp is not 0, which is written last.
struct raw_record {
  std::uint64_t stamp;
  std::uint64_t what;  // see pack
  std::uint64_t size;
  std::uint64_t site;  // where the call returns to; of thread_begin the thread's number
};
static_assert(sizeof(raw_chunk) == sizeof(raw_record));

inline constexpr unsigned address_bits = 48;

constexpr std::uint64_t pack(std::uint64_t address, kind k, std::uint8_t alignment_log2) {
  return (address & ((std::uint64_t{1} << address_bits) - 1)) | static_cast<std::uint64_t>(k) << 48 |
         static_cast<std::uint64_t>(alignment_log2) << 56;
}

constexpr std::uint64_t address_of(const raw_record& record) {
  return record.what & ((std::uint64_t{1} << address_bits) - 1);
}

constexpr kind kind_of(const raw_record& record) {
  return static_cast<kind>(record.what >> 48 & 0xFF);
}

constexpr std::uint8_t alignment_of(const raw_record& record) {
  return static_cast<std::uint8_t>(record.what >> 56);
}

}  // namespace heaplab::trace
