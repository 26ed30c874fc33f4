// The file that a process writes while it is recorded. The format is internal: heaplab's own recorder writes
// the file, and the trace file (docs/trace-format.md) is made from it when the program has ended.
//
// A folder holds `control`, which all processes of a recording share, and a file for each process. That file
// consists of a header and of chunks, each filled by one thread at a time. All memory is a shared mapping of
// the file, so that everything written is in the file, however the process ends.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/assertion.h"
#include "base/atomic.h"
#include "trace/raw/event.h"

namespace heaplab::trace {

enum class stamps : std::uint32_t {
  counter = 1,  // of the processor, the same on all processors
  tickets = 2,  // consecutive numbers from a counter of the process
};

enum class recording : std::uint32_t {
  off = 0,  // calls are neither recorded nor counted
  on = 1,
  waiting = 2,  // calls are not recorded yet, but the blocks that live are remembered
  // 3: not_begun, of a process that has not looked (process_file.h)
  looking = 4,   // calls are neither recorded nor counted, but executed programs are noted, as while on
  sampling = 5,  // of some blocks, the site is counted (raw_site), and those of them that live are remembered
};

// The reason why a call was not recorded.
enum class loss : std::uint32_t {
  nested,        // made within another allocation function, for example by a signal handler
  size_limit,    // the recording has reached its size limit
  disk_full,     // the disk had no room for a chunk, or the size of files is limited
  no_memory,     // there was no address space for a chunk
  refused,       // the system refused to create the file or to map a chunk
  calls_barred,  // the program has forbidden system calls, and what was mapped before is used up
  count
};
inline constexpr std::size_t losses = static_cast<std::size_t>(loss::count);

inline constexpr std::uint64_t control_magic = 0x326C6F72746E6F63;  // "control2"
inline constexpr std::size_t control_bytes = std::size_t{256} << 10;

// Created by `heaplab record`, python/heaplab/traces/control.py. Behind it stand the texts of
// recorder/executed_programs.h.
struct raw_control {
  std::uint64_t magic = 0;
  trace::stamps stamps = trace::stamps::counter;
  atomic<trace::recording> state;      // relaxed: takes effect soon and orders nothing
  std::uint64_t most_bytes = 0;        // limit of all files together; 0: none
  atomic<std::uint64_t> bytes = 0;     // bytes of all files; relaxed: a count
  std::uint64_t begins_late = 0;       // 1: the recording began as `waiting`, or in processes that ran
  std::uint64_t stacks = 0;            // 1: acquisitions have call stacks
  std::uint64_t instructions = 0;      // 1: those of all threads are counted
  std::uint64_t filters = 0;           // of system calls (seccomp) that the recording itself runs under
  std::uint64_t sample_bytes = 0;      // mean distance of two samples, if the state is `sampling`
  std::uint64_t keeper = 0;            // the process without which the recording ends; 0: goes on without any
  std::uint64_t page_period = 0;       // of which one page is watched (watched_pages.h); 0: none is
  atomic<std::uint64_t> filtered = 0;  // processes not recorded because they run under more; relaxed: a count
  // Calls in processes that have no file, by reason; relaxed: counts.
  atomic<std::uint64_t> without_file[losses] = {};
  // The last error of a system call; relaxed: for a message alone.
  atomic<std::uint32_t> error = 0;
  // Bytes of the texts behind, with those that found no room; relaxed: what is not written yet is zero.
  atomic<std::uint32_t> text_bytes = 0;
};
static_assert(sizeof(raw_control) == 152);

inline constexpr std::uint64_t raw_magic = 0x3277617270616568;  // "heapraw2"
inline constexpr std::size_t raw_header_bytes = 16384;
inline constexpr std::size_t raw_unit = 16384;  // chunk sizes and offsets are multiples of this

struct raw_moment {
  std::uint64_t stamp;
  std::uint64_t monotonic_ns;
  std::uint64_t unix_ns;
  std::uint64_t cpu_ns;  // that the process has had, on all processors
};

struct raw_header {
  std::uint64_t magic;
  trace::stamps stamps;
  std::uint32_t pid;
  std::uint32_t parent_pid;
  std::uint32_t forked;  // 1: the process began as a copy of its parent and has its parent's blocks
  raw_moment begin;
  raw_moment latest;              // when the last chunk was handed out, or when the process ended
  std::uint32_t ended;            // 1: the library's destructors ran
  atomic<std::uint32_t> threads;  // count of thread numbers given out; relaxed: only the number matters
  // handed-out part of the file; relaxed: each chunk header describes its own chunk
  atomic<std::uint64_t> bytes;
  // Executed by all recorded threads, up to the last chunk of each, or to its end; 0: not counted. relaxed: a
  // count.
  atomic<std::uint64_t> instructions;
  atomic<std::uint64_t> uncounted_threads;  // that had no counter, or not to their end; relaxed: a count
  // Calls that were not recorded, by reason. Each group of threads has a cache line of its own. relaxed:
  // counts.
  static constexpr std::size_t stripes = 16;
  struct alignas(64) stripe {
    atomic<std::uint64_t> calls[losses];
  } lost[stripes];
  // The last error of a system call by which the file should have grown; relaxed: for a message alone.
  atomic<std::uint32_t> error;
  char allocator[1024];  // this text and the next two end with a zero byte
  char program[4096];    // the name by which the program was started
  char executable[4096];
  char arguments[5632];  // each argument ends with a zero byte, the last with two
};
static_assert(sizeof(raw_header) <= raw_header_bytes);

inline constexpr std::uint32_t chunk_magic = 0x4B4E4843;  // "CHNK"

struct raw_chunk {
  std::uint32_t magic;   // written last
  std::uint32_t bytes;   // including this header
  std::uint64_t offset;  // of this chunk in the file
  std::uint32_t next;    // index of the next record to write, if a thread has handed the chunk on
  // 1: holds records of several threads; the records of each begin with thread_begin
  std::uint32_t handed_on;
  std::uint64_t unused;
};

// A table of the blocks that live while the recording waits: a chunk header, padded to the size of a bucket,
// and buckets. The table stays as it was when the recording went on.
inline constexpr std::uint32_t table_magic = 0x4556494C;  // "LIVE"

struct raw_live_block {
  std::uint64_t what;  // as in raw_record; an address below 8: no block
  std::uint64_t size;
  std::uint64_t site;
};

struct raw_bucket {
  static constexpr std::size_t room = 5;
  raw_live_block blocks[room];
  std::uint64_t unused;
};
static_assert(sizeof(raw_bucket) == 128);

// A call site of a sampled process, with the blocks that were sampled there. Sites lie in tables: a chunk
// header, padded to the size of a site, and sites, of which a thread adds each by its key. Amounts estimate
// all blocks of the site (poisson_sampling.h). relaxed: counts.
inline constexpr std::uint32_t sites_magic = 0x45544953;  // "SITE"
inline constexpr std::size_t most_frames = 33;            // of a stack

struct raw_site {
  static constexpr std::size_t classes_of_lives = 16;

  // 0: free; 1: being written; else a hash of the addresses, written last. acquire/release: who sees the key
  // sees the addresses.
  atomic<std::uint64_t> key;
  atomic<std::uint64_t> samples;
  atomic<std::uint64_t> bytes;
  atomic<std::uint64_t> blocks;           // in units of 2^-8
  atomic<std::uint64_t> bytes_variance;   // of the estimate, in units of sample_bytes^2 * 2^-20
  atomic<std::uint64_t> blocks_variance;  // the same, in units of sample_bytes^2 * 2^-40
  // Samples that were released, by lifetime: below 4 ms, 16 ms, 64 ms ...
  atomic<std::uint32_t> lives[classes_of_lives];
  std::uint64_t frames;
  std::uint64_t addresses[most_frames];  // code addresses, the innermost first
};
static_assert(sizeof(raw_site) == 384);

// What `site` of a sampled block in a table of live blocks tells: the number of its site, which is that of
// the table in the order in which tables were added, and the place in the table; and when the block was
// acquired, in milliseconds of CLOCK_MONOTONIC. Its upper bits tell which ends of the block lie on watched
// pages, and that the block is remembered for these alone.
inline constexpr unsigned site_bits = 20;
inline constexpr unsigned place_bits = 16;
inline constexpr std::uint64_t first_page_watched = std::uint64_t{1} << 63;
inline constexpr std::uint64_t last_page_watched = std::uint64_t{1} << 62;
inline constexpr std::uint64_t no_sample = std::uint64_t{1} << 61;
static_assert(place_bits < site_bits);

// A record is valid if its stamp is not 0. The stamp is written last.
struct raw_record {
  std::uint64_t stamp;
  std::uint64_t what;  // see pack
  std::uint64_t size;
  std::uint64_t site;  // return address of the call, or stack_site; in thread_begin the number of the thread
};
static_assert(sizeof(raw_chunk) == sizeof(raw_record));

// 0: a table without memory. The memory of an ended recording is taken back, and reads as zero, while a
// thread may still be in a call that began before.
constexpr std::size_t buckets_of(const raw_chunk& table) {
  const std::size_t whole = table.bytes / sizeof(raw_bucket);
  return whole == 0 ? 0 : whole - 1;
}
constexpr std::size_t sites_of(const raw_chunk& table) {
  const std::size_t whole = table.bytes / sizeof(raw_site);
  return whole == 0 ? 0 : whole - 1;
}

// A stack: records that follow each other in a chunk, each with up to three code addresses in place of stamp,
// size and site, the innermost first. The address in `what` is the number of all.
inline constexpr auto stack_part = static_cast<kind>(112);

// A site with this bit names a stack: the other bits are the offset of its first record in the file.
inline constexpr std::uint64_t stack_bit = std::uint64_t{1} << 63;
constexpr std::uint64_t stack_site(std::uint64_t offset) {
  return stack_bit | offset;
}

inline constexpr unsigned address_bits = 48;

// Packs the bits of an address that tell blocks apart, with kind and alignment.
constexpr std::uint64_t pack(std::uint64_t address, kind k, std::uint8_t alignment_log2) {
  HEAPLAB_ASSERT(alignment_log2 < 64 && (is_known(k) || k == stack_part));
  return (address & ((std::uint64_t{1} << address_bits) - 1)) | static_cast<std::uint64_t>(k) << 48 |
         static_cast<std::uint64_t>(alignment_log2) << 56;
}

// The parts of a packed word.
constexpr std::uint64_t address_in(std::uint64_t what) {
  return what & ((std::uint64_t{1} << address_bits) - 1);
}

constexpr kind kind_in(std::uint64_t what) {
  return static_cast<kind>(what >> 48 & 0xFF);
}

constexpr std::uint8_t alignment_in(std::uint64_t what) {
  return static_cast<std::uint8_t>(what >> 56);
}

constexpr std::uint64_t address_of(const raw_record& record) {
  return address_in(record.what);
}

constexpr kind kind_of(const raw_record& record) {
  return kind_in(record.what);
}

constexpr std::uint8_t alignment_of(const raw_record& record) {
  return alignment_in(record.what);
}

}  // namespace heaplab::trace
