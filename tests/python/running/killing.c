// Preloaded into a program that traces: kills it at the call of ptrace that KILL_AT names, `REQUEST NUMBER`;
// or its parent, with `REQUEST NUMBER PROGRAM` and in this program alone.
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

long ptrace(int request, ...) {
  static int calls;
  int wanted = 0, number = 0;
  va_list rest;
  va_start(rest, request);
  const long thread = va_arg(rest, long);
  void* const address = va_arg(rest, void*);
  void* data = va_arg(rest, void*);
  va_end(rest);
  long word = 0;
  const int peeks = request >= 1 && request <= 3;  // the system call stores the word
  if (peeks) data = &word;
  char program[32] = "";
  const int kills_parent = sscanf(getenv("KILL_AT"), "%d %d %31s", &wanted, &number, program) == 3;
  const long done = syscall(SYS_ptrace, (long)request, thread, address, data);
  const int is_meant = !kills_parent || strcmp(program, program_invocation_short_name) == 0;
  if (is_meant && request == wanted && ++calls == number) kill(kills_parent ? getppid() : getpid(), SIGKILL);
  return peeks && done == 0 ? word : done;
}
