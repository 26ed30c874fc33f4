// vfork as in the C library, except that the heap does without restartable sequences while the child lives
// (concurrent/core_stacks.h). Of heaps that use none the library does not define vfork.
//
// The child runs in the frame of the caller, so that nothing may lie on the stack while the system makes the
// child: the address to return to waits in a register. The child takes it from there by a jump, because it
// shares the shadow stack of its parent too, if there is one.
//
// Included by library.cpp, behind the definition of bound_heap.
#pragma once

#include <sys/types.h>

#include <cerrno>

extern "C" {

[[gnu::used, gnu::visibility("hidden")]] inline void heaplab_before_vfork() {
  heaplab::shim::bound_heap::before_vfork();
}

// In the parent, with what the system call has returned.
[[gnu::used, gnu::visibility("hidden")]] inline pid_t heaplab_after_vfork(long result) {
  heaplab::shim::bound_heap::after_vfork();
  if (result >= 0) return static_cast<pid_t>(result);
  errno = static_cast<int>(-result);
  return -1;
}
}

#if defined(__x86_64__)
asm(R"(
  .pushsection .text
  .globl vfork
  .type vfork, @function
vfork:
  .cfi_startproc
  endbr64
  subq $8, %rsp
  .cfi_adjust_cfa_offset 8
  call heaplab_before_vfork
  addq $8, %rsp
  .cfi_adjust_cfa_offset -8
  popq %rdi
  .cfi_adjust_cfa_offset -8
  .cfi_register %rip, %rdi
  movl $58, %eax
  syscall
  testl %eax, %eax
  je 1f
  pushq %rdi
  movq %rax, %rdi
  jmp heaplab_after_vfork
1:
  notrack jmp *%rdi
  .cfi_endproc
  .size vfork, . - vfork
  .popsection
)");
#elif defined(__aarch64__)
// clone with CLONE_VM, CLONE_VFORK and SIGCHLD.
asm(R"(
  .pushsection .text
  .globl vfork
  .type vfork, %function
vfork:
  .cfi_startproc
  hint #34 // bti c
  stp x29, x30, [sp, #-16]!
  .cfi_adjust_cfa_offset 16
  .cfi_rel_offset x30, 8
  bl heaplab_before_vfork
  ldp x29, x30, [sp], #16
  .cfi_adjust_cfa_offset -16
  .cfi_restore x30
  mov x0, #0x4111
  mov x1, #0
  mov x8, #220
  svc #0
  cbz x0, 1f
  b heaplab_after_vfork
1:
  ret
  .cfi_endproc
  .size vfork, . - vfork
  .popsection
)");
#endif
