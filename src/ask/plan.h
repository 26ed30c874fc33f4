// What is to be called in another process, and where: the text that python/heaplab/running writes.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <iosfwd>
#include <vector>

#include "ask/unwound_stack.h"

namespace heaplab::ask {

struct expected_bytes {
  std::uint64_t address;
  std::vector<unsigned char> bytes;
};

// Lines `NAME VALUES...`; numbers are hexadecimal but for `process`.
struct plan {
  pid_t process = 0;
  std::uint64_t code = 0;                                      // room for the trampoline, in mapped code
  std::uint64_t area = 0, area_bytes = 0;                      // address space that is free
  std::uint64_t map = 0, unmap = 0, errno_location = 0;        // functions of the process
  std::uint64_t records_begin = 0, records_end = 0, done = 0;  // in the area
  bool may_abandon = false;                                    // a call that waits for a lock has no other
  std::uint64_t records_by_each = 0;     // the end of those that every thread carries out, one after another
  std::vector<unsigned char> content;    // of the begin of the area
  std::vector<expected_bytes> expected;  // of functions: the process is the one meant
  std::vector<address_range> unsafe;     // code in which locks may be held
};

// Throws std::runtime_error for a line that cannot be read.
plan read_plan(std::istream& from);

}  // namespace heaplab::ask
