#include <cstddef>

#include "ask/machine.h"

namespace heaplab::ask {

static_assert(offsetof(trampoline_frame, resumption) == 128);
static_assert(offsetof(trampoline_frame, resumption.context.uc_stack) == 272);

}  // namespace heaplab::ask

// Registers on entry: sp = the frame, x19 = the first record, x20 = the end of the records, x21 = where 1 is
// stored at the end, x22 = __errno_location of the process.
//
// No instruction sets all registers, so the thread leaves as a signal handler does: rt_sigreturn takes them,
// also vectors, from the frame, and with them the thread's signal stack, which sigaltstack tells.
//
// The code for areas of mimalloc's heaps is a mi_block_visit_fun: its second argument is a mi_heap_area_t,
// whose words are blocks, reserved, committed, used and block_size, its fifth an area_sums. It begins with
// bti c, by its number.
asm(R"(
  .section .rodata
  .balign 16
  .globl heaplab_trampoline
heaplab_trampoline:
  blr x22
  ldr w1, [x0]
  stp x0, x1, [sp, #112]
1:
  cmp x19, x20
  b.hs 4f
  ldp x16, x0, [x19]
  ldp x1, x2, [x19, #16]
  ldp x3, x4, [x19, #32]
  ldr x5, [x19, #48]
  mov x6, #0
  mov x7, #0
  blr x16
  ldp x1, x2, [x19, #56]
  cbz x1, 2f
  str x0, [x1]
2:
  cbz x2, 3f
  str x0, [x2]
  cbz x0, 4f
3:
  add x19, x19, #72
  b 1b
4:
  ldp x0, x1, [sp, #112]
  str w1, [x0]
  cbz x21, 5f
  mov x0, #1
  stlr x0, [x21]
5:
  mov x0, #0
  add x1, sp, #272
  mov x8, #132
  svc #0
  add sp, sp, #128
  mov x8, #139
  svc #0
  .org heaplab_trampoline + 384
  hint #34
  ldp x2, x3, [x1, #24]
  ldp x5, x6, [x4]
  madd x5, x2, x3, x5
  ldr x2, [x1, #16]
  add x2, x2, x6
  cmp x3, #4096
  csel x6, x2, x6, ls
  stp x5, x6, [x4]
  mov w0, #1
  ret
  .globl heaplab_trampoline_end
heaplab_trampoline_end:
  .previous
)");
