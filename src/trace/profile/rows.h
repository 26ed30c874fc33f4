// Events, and blocks from birth to death, as records of fixed size for readers that take whole columns.
#pragma once

#include <cstdint>
#include <cstdio>

#include "trace/file/trace_file.h"
#include "trace/raw/event.h"

namespace heaplab::trace {

// As python/heaplab/traces/columns.py reads them.
struct event_row {
  std::uint64_t number;  // within the process, from 0
  std::uint64_t stamp;
  std::uint64_t address;
  std::uint64_t size;
  std::uint32_t process;
  std::uint32_t thread;
  std::uint32_t site;
  std::uint8_t kind;
  std::uint8_t alignment_log2;
  std::uint16_t unused;
};
static_assert(sizeof(event_row) == 48);

struct block_row {
  std::uint64_t acquired;  // stamp
  std::uint64_t released;  // stamp; 0 where nobody released the block
  std::uint64_t address;
  std::uint64_t size;
  std::uint32_t process;
  std::uint32_t thread;
  std::uint32_t site;
  std::uint32_t releasing_thread;
  std::uint32_t releasing_site;
  std::uint32_t growths;  // reallocations that led to the block, one after another
  std::uint8_t kind;
  std::uint8_t releasing_kind;  // 0: nobody released the block
  std::uint8_t alignment_log2;
  std::uint8_t unused[5];
};
static_assert(sizeof(block_row) == 64);

// Writes the rows of a process. Throws trace_error where `to` takes no more. Blocks stand in the order of
// their deaths. Memory of blocks: as of a profile.
void write_event_rows(trace_file& file, std::uint32_t process, std::FILE* to);
void write_block_rows(trace_file& file, std::uint32_t process, std::FILE* to);

// Reads the event of an event_row; false at the end. Throws trace_error for a part of a row.
bool read_event_row(std::FILE* from, event& e);

}  // namespace heaplab::trace
