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

// What a thread finds on its stack: below its stack pointer room for one record and for errno, which the
// trampoline fills; from its stack pointer upwards the registers that it goes on with.
struct trampoline_frame {
  call_record first;
  std::uint64_t unused[5];
  std::uint64_t errno_address, errno_value;
  std::uint64_t r15, r14, r13, r12, r11, r10, r9, r8, rbp, rdi, rsi, rdx, rcx, rbx, rax, flags, rip;
};

inline constexpr std::size_t red_zone = 128;  // B below the stack pointer that functions may use
static_assert(offsetof(trampoline_frame, r15) == red_zone);
// The stack that the trampoline and the functions it calls need.
inline constexpr std::size_t stack_need = std::size_t{48} << 10;

// What the visitor of areas adds up, which lies behind the trampoline at this offset: B of blocks in use, and
// of areas whose blocks are no larger than a page, so that every page has a link or data.
struct area_sums {
  std::uint64_t used, touched;
};
inline constexpr std::size_t area_visitor = 384;

// Registers on entry: rsp = r15 of the frame, rbx = the first record, r12 = the end of the records, r13 =
// where 1 is stored at the end (0: nowhere), r14 = __errno_location of the process.
extern "C" const unsigned char heaplab_trampoline[];
extern "C" const unsigned char heaplab_trampoline_end[];

inline std::size_t trampoline_bytes() {
  return static_cast<std::size_t>(heaplab_trampoline_end - heaplab_trampoline);
}

}  // namespace heaplab::ask
