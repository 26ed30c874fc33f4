// The code by which a thread of another process makes calls and then goes on, whoever lives to see that.
//
// The code depends on no address and has no data of its own: a thread enters with all it needs in registers
// and in a frame on its stack, and leaves by itself. So the asking program may end at any moment.
#pragma once

#include <cstddef>
#include <cstdint>

namespace heaplab::ask {

// A call of a script. The results of earlier calls may be stored in arguments of later ones.
struct call_record {
  std::uint64_t function;
  std::uint64_t arguments[6];
  std::uint64_t result;    // address where the result is stored; 0: nowhere
  std::uint64_t required;  // another such address, with which a result of 0 ends the script
};

// The begin of what a thread finds on its stack (trampoline_frame of its machine): room for one record and
// for errno, which the trampoline fills. The registers that the thread goes on with follow.
struct frame_head {
  call_record first;
  std::uint64_t unused[5];
  std::uint64_t errno_address, errno_value;
};
static_assert(sizeof(frame_head) == 128);  // as the code has it

// The stack that the trampoline and the functions it calls need.
inline constexpr std::size_t stack_need = std::size_t{48} << 10;

// What the visitor of areas adds up, which lies behind the trampoline at this offset: B of blocks in use, and
// of areas whose blocks are no larger than a page, so that every page has a link or data.
struct area_sums {
  std::uint64_t used, touched;
};
inline constexpr std::size_t area_visitor = 384;

// What a thread enters with: records from `begin` to `end`, and where 1 is stored behind them (0: nowhere).
struct calls_to_make {
  std::uint64_t code, errno_location;
  std::uint64_t begin, end, done;
};

extern "C" const unsigned char heaplab_trampoline[];
extern "C" const unsigned char heaplab_trampoline_end[];

inline std::size_t trampoline_bytes() {
  return static_cast<std::size_t>(heaplab_trampoline_end - heaplab_trampoline);
}

}  // namespace heaplab::ask
