#include "ask/trampoline.h"

// Registers on entry: rsp = behind the head of the frame, rbx = the first record, r12 = the end of the
// records, r13 = where 1 is stored at the end, r14 = __errno_location of the process.
//
// Vector registers hold values of the interrupted code and are saved and restored in whole, but for those of
// AMX, which no function that is called uses. The header of the saved area must be zero: offset 512.
// Arguments behind the sixth lie on the stack and are 0.
//
// The code for areas of mimalloc's heaps is a mi_block_visit_fun: its second argument is a mi_heap_area_t,
// whose words are blocks, reserved, committed, used and block_size, its fifth an area_sums.
//
// `ret` leaves in one instruction: it takes the address to go on at from the frame, and the red zone off the
// stack. With two instructions a signal between them could overwrite the address.
asm(R"(
  .section .rodata
  .balign 16
  .globl heaplab_trampoline
heaplab_trampoline:
  mov %rsp, %rbp
  sub $128, %rsp
  and $-64, %rsp
  sub $4096, %rsp
  xor %eax, %eax
  mov %rax, 512(%rsp)
  mov %rax, 520(%rsp)
  mov %rax, 528(%rsp)
  mov %rax, 536(%rsp)
  mov %rax, 544(%rsp)
  mov %rax, 552(%rsp)
  mov %rax, 560(%rsp)
  mov %rax, 568(%rsp)
  mov $0x2e7, %eax
  xor %edx, %edx
  xsave64 (%rsp)
  sub $64, %rsp
  call *%r14
  mov (%rax), %ecx
  mov %rax, -16(%rbp)
  mov %rcx, -8(%rbp)
1:
  cmp %r12, %rbx
  jae 4f
  mov 8(%rbx), %rdi
  mov 16(%rbx), %rsi
  mov 24(%rbx), %rdx
  mov 32(%rbx), %rcx
  mov 40(%rbx), %r8
  mov 48(%rbx), %r9
  xor %eax, %eax
  mov %rax, (%rsp)
  mov %rax, 8(%rsp)
  call *(%rbx)
  mov 56(%rbx), %rcx
  test %rcx, %rcx
  jz 2f
  mov %rax, (%rcx)
2:
  mov 64(%rbx), %rcx
  test %rcx, %rcx
  jz 3f
  mov %rax, (%rcx)
  test %rax, %rax
  jz 4f
3:
  add $72, %rbx
  jmp 1b
4:
  mov -16(%rbp), %rax
  mov -8(%rbp), %rcx
  mov %ecx, (%rax)
  test %r13, %r13
  jz 5f
  movq $1, (%r13)
5:
  mov $0x2e7, %eax
  xor %edx, %edx
  xrstor64 64(%rsp)
  mov %rbp, %rsp
  pop %r15
  pop %r14
  pop %r13
  pop %r12
  pop %rbp
  pop %rbx
  pop %r11
  pop %r10
  pop %r9
  pop %r8
  pop %rax
  pop %rcx
  pop %rdx
  pop %rsi
  pop %rdi
  popfq
  ret $128
  .org heaplab_trampoline + 384
  endbr64
  mov 32(%rsi), %rcx
  mov 24(%rsi), %rax
  imul %rcx, %rax
  add %rax, (%r8)
  cmp $4096, %rcx
  ja 6f
  mov 16(%rsi), %rax
  add %rax, 8(%r8)
6:
  mov $1, %eax
  ret
  .globl heaplab_trampoline_end
heaplab_trampoline_end:
  .previous
)");
