// How a redirected function enters the recorder, on AArch64.
#pragma once

#include <cstdint>
#include <cstring>

#include "moving/jump_aarch64.h"
#include "recorder/redirected_call.h"

// The compiler may know which registers a function of its own file leaves alone (gcc's -fipa-ra), so all are
// saved that a function may use, but the one with the result, and x16 and x17, which the linker's jumps use.
// Of registers longer than q0 to q31 (SVE) no more is saved.
//
// On entry: x17 = the entry; the others as the caller left them.
asm(R"(
  .macro heaplab_registers do
  .irp n, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 18
  \do x\n, [sp, #8 * \n]
  .endr
  .irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
  \do q\n, [sp, #160 + 16 * \n]
  .endr
  .endm
  .text
  .balign 16
  .hidden heaplab_enter_redirected
  .globl heaplab_enter_redirected
  .type heaplab_enter_redirected, %function
heaplab_enter_redirected:
  .cfi_startproc
  hint #34  // bti c
  stp x29, x30, [sp, #-16]!
  .cfi_def_cfa_offset 16
  .cfi_offset x29, -16
  .cfi_offset x30, -8
  mov x29, sp
  .cfi_def_cfa_register x29
  sub sp, sp, #672
  str x0, [sp]
  heaplab_registers str
  mov x0, sp
  mov x1, x17
  bl heaplab_serve_redirected
  heaplab_registers ldr
  mov sp, x29
  ldp x29, x30, [sp], #16
  .cfi_def_cfa sp, 0
  .cfi_restore x29
  .cfi_restore x30
  ret
  .cfi_endproc
  .size heaplab_enter_redirected, . - heaplab_enter_redirected
)");

namespace heaplab::recorder {

extern "C" const std::uint8_t heaplab_enter_redirected[];

// What the code above has saved.
class saved_registers {
public:
  std::uint64_t argument(std::size_t number) const { return general_[number]; }
  // The caller's frame pointer and the return address.
  const std::uint64_t* frame() const { return frame_; }

private:
  std::uint64_t general_[20], vectors_[64], frame_[2];
};

inline void write_enter(redirected_entry& entry) {
  constexpr std::uint32_t nop = 0xD503201F, paciasp = 0xD503233F, other_key = 0x40, back = 0x80;
  constexpr std::uint32_t load_entry_and_jump[] = {0x10FFFFF1, 0x58000050,
                                                   0xD61F0200};  // adr x17, entry; ldr x16, . + 8; br x16
  // If the instruction that stays before the jump has signed the return address: autiasp or autibsp.
  std::uint32_t first;
  std::memcpy(&first, entry.function.code, sizeof first);
  const std::uint32_t unsign = (first & ~other_key) == paciasp ? first | back : nop;
  put(put(put(entry.enter, unsign), load_entry_and_jump),
      reinterpret_cast<std::uint64_t>(&heaplab_enter_redirected));
}

// Adapts an instruction that stood at `stood`. False: it does not reach from here.
inline bool adapt(std::uint8_t* at, std::uint64_t stood) {
  std::uint32_t code;
  std::memcpy(&code, at, sizeof code);
  const auto adapted = moving::aarch64::moved(code, stood, reinterpret_cast<std::uint64_t>(at));
  if (adapted) put(at, *adapted);
  return adapted.has_value();
}

}  // namespace heaplab::recorder
