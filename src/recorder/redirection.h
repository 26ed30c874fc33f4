// Redirection: the first instructions of a function of the program's own malloc are replaced by a jump to the
// recorder, which calls the function through a copy of these instructions. So callers in every module and
// through every pointer are seen. The front end tells which functions, and how their first instructions run
// elsewhere (python/heaplab/traces/redirecting), in a file of the recording's folder.
//
// A process that runs already calls heaplab_recorder_attach, which prepares everything but the jumps: those
// are written and taken back from outside, while no thread runs (src/ask/change_code.cpp).
#pragma once

#include <cstdint>

#include "base/atomic.h"

namespace heaplab::recorder {

inline constexpr std::uint64_t redirection_magic = 0x3172696465726568;  // "heredir1"

// What stands in the file `functions` of a recording's folder: this, then the functions.
struct redirection_header {
  std::uint64_t magic;
  std::uint64_t device,
      inode;  // of the file of the program whose functions these are; 0: addresses are absolute
  std::uint64_t count;
};

// The address of a function that is redirected; 0: there is none. relaxed: an address alone.
inline constinit atomic<std::uint64_t> first_redirected = 0;

enum class act : std::uint8_t { acquire, release, resize };

// Which of a function's arguments means what: 0 to 5 in the order of the calling convention.
inline constexpr std::uint8_t no_argument = 255;

struct redirected_function {
  std::uint64_t address;  // less the load bias of the program, unless absolute
  recorder::act act;
  std::uint8_t kind;        // trace::kind of what is recorded; of a resize, of the release
  std::uint8_t grown_kind;  // of the acquisition of a resize
  std::uint8_t small_kind;  // of an acquisition whose alignment every block has
  std::uint8_t block, size, count, alignment,
      flags;                   // arguments; `flags` are those of jemalloc, with an alignment
  std::uint8_t stores_result;  // 1: as posix_memalign does
  std::uint8_t replaced;       // bytes of the function that `code` stands for
  std::uint8_t code_bytes;
  std::uint8_t displacements;    // how many there are
  std::uint8_t displacement[3];  // where in `code` they stand (src/moving/moved_entry.h)
  std::uint8_t code[56];
  std::uint8_t original[24];  // what stands at the address before
};
static_assert(sizeof(redirected_function) == 104);

}  // namespace heaplab::recorder
