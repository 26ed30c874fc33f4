// Of entries.c. Registers that are looked at: rcx, rdx, rsi, r8 to r11, xmm0, xmm15.
enum { WORDS = 11 };

asm(R"(
  .text
  acquiring plain_malloc   # its data is told by the distance to it
  mov next_block(%rip), %rax
  add %rdi, next_block(%rip)
  ret
  end plain_malloc

  choosing branching_malloc   # a short jump among the bytes that move
  test %rdi, %rdi
  je 1f
  jmp plain_malloc
1: lea room(%rip), %rax
  ret
  end branching_malloc

  acquiring tail_malloc   # a jump of two bytes, and nothing but padding behind
  jmp branching_malloc
  end tail_malloc

  acquiring calling_malloc
  call plain_malloc
  nop
  ret
  end calling_malloc

  acquiring longer_malloc   # a short jump that becomes longer, then data
  cmp $1, %edi
  jb 1b
  mov next_block(%rip), %rax
  add %rdi, next_block(%rip)
  ret
  end longer_malloc

  acquiring indirect_malloc
  jmp *pointer(%rip)
  end indirect_malloc

  function looping_free   # not to be moved
1: dec %rdi
  jnz 1b
  ret
  end looping_free

  function short_free   # neither
  xor %eax, %eax
  ret
  .size short_free, . - short_free
  .globl behind
  .type behind, %function
behind:
  mov %rdi, %rax
  ret
  .size behind, . - behind

  function fill_and_call
  push %rbx
  push %rbp
  mov %rdi, %rbp
  mov %rsi, %rbx
  mov (%rbx), %rcx
  mov 8(%rbx), %rdx
  mov 16(%rbx), %rsi
  mov 24(%rbx), %r8
  mov 32(%rbx), %r9
  mov 40(%rbx), %r10
  mov 48(%rbx), %r11
  movups 56(%rbx), %xmm0
  movups 72(%rbx), %xmm15
  mov $16, %edi
  push %rdi
  call *%rbp
  mov %rax, (%rsp)
  mov %rax, %rdi
  call nothing_free
  pop %rax
  mov %rcx, (%rbx)
  mov %rdx, 8(%rbx)
  mov %rsi, 16(%rbx)
  mov %r8, 24(%rbx)
  mov %r9, 32(%rbx)
  mov %r10, 40(%rbx)
  mov %r11, 48(%rbx)
  movups %xmm0, 56(%rbx)
  movups %xmm15, 72(%rbx)
  pop %rbp
  pop %rbx
  ret
  end fill_and_call

  .data
  .balign 8
pointer: .quad longer_malloc
  .previous
)");
