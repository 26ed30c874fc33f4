// Of entries.c. Registers that are looked at: x1 to x15, x18, q0 to q30.
#include <sys/mman.h>

enum { WORDS = 16 + 2 * 31 };

asm(R"(
  .macro take   // at x17 is the place of the next block
  ldr x16, [x17]
  add x0, x16, x0
  str x0, [x17]
  mov x0, x16
  ret
  .endm
  .macro loading name, instruction, then   // x16, the distance to that place
  acquiring \name
  \instruction
  \then
  adr x17, near
  add x17, x17, w16, sxtw
  take
  end \name
  .endm
  .macro deciding name, first, then
  choosing \name
  \first
  \then
1: adrp x0, room
  add x0, x0, :lo12:room
  ret
  end \name
  .endm
  .macro signing name, sign, unsign
  acquiring \name
  \sign
  cbz x0, 1f
1: stp x29, x30, [sp, #-16]!
  bl page_malloc
  ldp x29, x30, [sp], #16
  \unsign
  ret
  end \name
  .endm

  .balign 16
near: .8byte next_block - near, 0

  acquiring page_malloc
  adrp x17, next_block
  add x17, x17, :lo12:next_block
  take
  end page_malloc

  loading address_malloc, "adr x17, near", "ldr x16, [x17]"
  loading x_malloc, "ldr x16, near"
  loading w_malloc, "ldr w16, near"
  loading sw_malloc, "ldrsw x16, near"
  loading s_malloc, "ldr s31, near", "fmov x16, d31"
  loading d_malloc, "ldr d31, near", "fmov x16, d31"
  loading q_malloc, "ldr q31, near", "fmov x16, d31"
  loading prefetch_malloc, "prfm pldl1keep, near", "ldr x16, near"

  acquiring tail_malloc
  b page_malloc
  end tail_malloc

  acquiring flags_malloc   // they are the callee's: both ways are right
  b.ne page_malloc
  b x_malloc
  end flags_malloc

  deciding zero_malloc, "cbz x0, 1f", "b page_malloc"
  deciding nonzero_malloc, "cbnz w0, page_malloc"
  deciding clear_malloc, "tbz w0, #4, 1f", "b page_malloc"
  deciding set_malloc, "tbnz x0, #4, page_malloc"

  function looping_free   // not to be moved
1: sub x0, x0, #1
  cbnz x0, 1b
  ret
  end looping_free

  function short_free   // neither
  hint #34
  end short_free
  function behind
  ret
  end behind

  .macro registers do   // words at x17
  .irp n, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
  \do x\n, [x17, #8 * \n]
  .endr
  \do x18, [x17]
  .irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30
  \do q\n, [x17, #128 + 16 * \n]
  .endr
  .endm

  function fill_and_call   // d8 to d15 are nobody's in this program
  stp x29, x30, [sp, #-32]!
  str x1, [sp, #16]
  mov x16, x0
  mov x17, x1
  registers ldr
  mov x0, #16
  blr x16
  bl nothing_free   // which leaves x0 alone, too
  ldr x17, [sp, #16]
  registers str
  ldp x29, x30, [sp], #32
  ret
  end fill_and_call

  .balign 65536   // pages that are guarded: an indirect call lands on what is meant for that alone
guarded:
  signing a_malloc, "hint #25", "hint #29"   // paciasp, autiasp
  signing b_malloc, "hint #27", "hint #31"   // pacibsp, autibsp
  deciding landing_malloc, "hint #34", "cbnz x0, unmarked"   // bti c
unmarked:
  b page_malloc
  .balign 65536
guarded_end:
)");

extern char guarded[], guarded_end[];

// As the loader does for a program that is made so, where the processor and the system have such a guard.
__attribute__((constructor)) static void guard(void) {
  enum { PROT_BTI_OF_LINUX = 0x10 };
  mprotect(guarded, guarded_end - guarded, PROT_READ | PROT_EXEC | PROT_BTI_OF_LINUX);
}
