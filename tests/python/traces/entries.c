// Functions whose first instructions are each of another kind, and a caller that relies on every register
// which such a function leaves alone, as code of one file may (gcc's -fipa-ra). Prints `same` if all blocks
// and registers are right.
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

char room[1 << 16] __attribute__((aligned(16)));
char* next_block = room;
int errors;

asm(R"(
  .text
  .macro function name
  .balign 16
  .globl \name
  .type \name, @function
\name:
  .endm
  .macro end name
  .size \name, . - \name
  .endm

  function plain_malloc   # its data is told by the distance to it
  mov next_block(%rip), %rax
  add %rdi, next_block(%rip)
  ret
  end plain_malloc

  function branching_malloc   # a short jump among the bytes that move
  test %rdi, %rdi
  je 1f
  jmp plain_malloc
1: lea room(%rip), %rax
  ret
  end branching_malloc

  function tail_malloc   # a jump of two bytes, and nothing but padding behind
  jmp branching_malloc
  end tail_malloc

  function calling_malloc
  call plain_malloc
  nop
  ret
  end calling_malloc

  function longer_malloc   # a short jump that becomes longer, then data
  cmp $1, %edi
  jb 1b
  mov next_block(%rip), %rax
  add %rdi, next_block(%rip)
  ret
  end longer_malloc

  function indirect_malloc
  jmp *pointer(%rip)
  end indirect_malloc

  function nothing_free
  ret
  end nothing_free

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
  .type behind, @function
behind:
  mov %rdi, %rax
  ret
  .size behind, . - behind

  function fill_and_call   # rdi: function, rsi: 24 words to load registers with and to store them to
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
  pop %rdi
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

typedef void* acquiring(size_t);
acquiring plain_malloc, branching_malloc, tail_malloc, calling_malloc, longer_malloc, indirect_malloc;
void nothing_free(void*), looping_free(long), short_free(void*);
void* fill_and_call(acquiring* function, uint64_t* registers);

static void try(acquiring* function) {
  uint64_t given[11], registers[11];
  for (unsigned number = 0; number < 11; ++number) given[number] = 0x0101010101010101u * (number + 1);
  memcpy(registers, given, sizeof given);
  char* expected = next_block;
  void* block = fill_and_call(function, registers);
  if (block != expected || next_block != expected + 16 || memcmp(registers, given, sizeof given) != 0)
    ++errors;
  nothing_free(block);
}

int main(void) {
  for (int round = 0; round < 10; ++round) {
    try(plain_malloc);
    try(branching_malloc);
    try(tail_malloc);
    try(calling_malloc);
    try(longer_malloc);
    try(indirect_malloc);
  }
  if (branching_malloc(0) != room) ++errors;
  looping_free(3);
  short_free(0);
  const char* said = errors == 0 ? "same" : "different";
  return write(1, said, strlen(said)) < 0;
}
