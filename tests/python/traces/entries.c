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

// acquiring: a function that hands out the next block; choosing: one that hands out `room` if asked for no
// byte.
asm(R"(
  .macro function name
  .balign 16
  .globl \name
  .type \name, %function
\name:
  .endm
  .macro end name
  .size \name, . - \name
  .endm
  .macro acquiring name, table=all_functions
  .section \table, "aw"
  .balign 8
  .8byte \name
  .text
  .ifc \table, all_functions
  function \name
  .endif
  .endm
  .macro choosing name
  acquiring \name, choosing_functions
  acquiring \name
  .endm

  .text
  function nothing_free
  ret
  end nothing_free
)");

#if defined(__x86_64__)
#include "entries_x86_64.h"
#elif defined(__aarch64__)
#include "entries_aarch64.h"
#endif

typedef void* acquiring(size_t);
extern acquiring *__start_all_functions[], *__stop_all_functions[];
extern acquiring *__start_choosing_functions[], *__stop_choosing_functions[];
void looping_free(long), short_free(void*);
// Calls a function, for 16 bytes, and nothing_free, with registers loaded from words, and stores these.
void* fill_and_call(acquiring* function, uint64_t* words);

static void try(acquiring* function) {
  uint64_t given[WORDS], words[WORDS];
  for (unsigned number = 0; number < WORDS; ++number) given[number] = 0x0101010101010101u * (number + 1);
  memcpy(words, given, sizeof given);
  char* expected = next_block;
  void* block = fill_and_call(function, words);
  if (block != expected || next_block != expected + 16 || memcmp(words, given, sizeof given) != 0) ++errors;
}

int main(void) {
  for (int round = 0; round < 10; ++round)
    for (acquiring** each = __start_all_functions; each != __stop_all_functions; ++each) try(*each);
  for (acquiring** each = __start_choosing_functions; each != __stop_choosing_functions; ++each)
    if ((*each)(0) != room) ++errors;
  looping_free(3);
  short_free(0);
  const char* said = errors == 0 ? "same" : "different";
  return write(1, said, strlen(said)) < 0;
}
