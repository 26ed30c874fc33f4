// Holds memory of a known kind, which its first argument names, and waits for a byte on standard input.
#define _GNU_SOURCE
#include <alloca.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { MIB = 1 << 20, HELD = 40 * MIB, BLOCK = 1000, COUNT = HELD / BLOCK, LARGE = 4 * MIB };

static char* blocks[COUNT];
static _Atomic int settled;  // threads that have done what they do before the first thread goes on

static void take(void) {
  for (int i = 0; i < COUNT; ++i) blocks[i] = memset(malloc(BLOCK), 1, BLOCK);
}

static void wait_for_a_byte(void) {
  char byte = 0;
  if (write(1, "ready\n", 6) != 6 || read(0, &byte, 1) != 1) _exit(1);
}

// The last block keeps the end of the arena, and with it all that was freed.
static void* take_and_free(void* unused) {
  take();
  for (int i = 0; i < COUNT - 1; ++i) free(blocks[i]);
  ++settled;
  pause();
  return unused;
}

// What it holds belongs to no thread any more.
static void* take_and_end(void* unused) {
  take();
  ++settled;
  return unused;
}

// Waits in stdio, for ever.
static void* take_and_read(void* unused) {
  int ends[2];
  char line[2];
  take();
  if (pipe(ends) != 0) _exit(1);
  ++settled;
  return fgets(line, sizeof line, fdopen(ends[0], "r"));
}

static void take_large(void) {
  for (int i = 0; i < HELD / LARGE; ++i) memset(malloc(LARGE), 1, LARGE);
}

// A block of each page stays.
static void take_and_keep_some(void) {
  take();
  for (int i = 0; i < COUNT; ++i)
    if (i % 3 != 0) free(blocks[i]);
}

static void* deep(void* unused) {
  void* used = memset(alloca(4 * MIB), 1, 4 * MIB);
  __asm__ volatile("" : "+r"(used)::"memory");
  ++settled;
  pause();
  return unused;
}

static void* leak(void* unused) {
  ++settled;
  for (int i = 0; i < 4000; ++i) {
    for (int j = 0; j < 64; ++j) memset(malloc(BLOCK), 1, BLOCK);
    usleep(1000);
  }
  return unused;
}

// malloc_stats writes while it holds the lock of an arena: here for ever, into a pipe that is full.
static void* hold_a_lock(void* unused) {
  ++settled;
  malloc_stats();
  return unused;
}

static void block_standard_error(void) {
  int ends[2];
  char byte = 0;
  if (pipe2(ends, O_NONBLOCK) != 0) _exit(1);
  while (write(ends[1], &byte, 1) == 1) continue;
  fcntl(ends[1], F_SETFL, 0);
  dup2(ends[1], 2);
}

static void start(int count, void* (*what)(void*)) {
  pthread_t thread;
  const int expected = settled + count;
  for (int i = 0; i < count; ++i) pthread_create(&thread, NULL, what, NULL);
  while (settled < expected) usleep(1000);
}

int main(int count, char** words) {
  const char* kind = count > 1 ? words[1] : "";
  pid_t child = 0;
  if (strcmp(kind, "live") == 0) take();
  if (strcmp(kind, "retained") == 0) start(1, take_and_free);
  if (strcmp(kind, "arenas") == 0)  // of three threads, one after another
    for (int i = 0; i < 3; ++i) start(1, take_and_free);
  if (strcmp(kind, "large") == 0) take_large();
  if (strcmp(kind, "ended") == 0) start(1, take_and_end);
  if (strcmp(kind, "fgets") == 0) start(1, take_and_read);
  if (strcmp(kind, "pinned") == 0) take_and_keep_some();
  if (strcmp(kind, "stacks") == 0) start(10, deep);
  if (strcmp(kind, "leak") == 0) start(1, leak);
  if (strcmp(kind, "mapped") == 0) blocks[0] = malloc(BLOCK);
  if (strcmp(kind, "mapped") == 0)
    memset(mmap(NULL, HELD, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), 1, HELD);
  if (strcmp(kind, "lock") == 0) {
    block_standard_error();
    start(1, hold_a_lock);
    usleep(300000);
  }
  if (strcmp(kind, "child") == 0 && (child = fork()) == 0) {
    unsetenv("LD_PRELOAD");
    execl(words[0], words[0], "asleep", NULL);
  }
  if (strcmp(kind, "asleep") == 0) return pause();
  usleep(child ? 300000 : 0);
  wait_for_a_byte();
  if (child) kill(child, 9);
  return 0;
}
