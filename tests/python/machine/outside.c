// Holds memory of one kind, which its argument names, until a sampler has seen it.
#define _GNU_SOURCE
#include <alloca.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MIB = 1 << 20, THREADS = 10 };

static char zeroed[40 * MIB];

// The compiler sees no use of a block otherwise, and drops it.
__attribute__((noinline)) static void* kept(void* at) {
  __asm__ volatile("" : "+r"(at)::"memory");
  return at;
}

static char* filled(void* at, size_t bytes) {
  return kept(memset(at, 1, bytes));
}

static void* mapped(size_t bytes, int flags, int file) {
  return mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags, file, 0);
}

static void* anonymous(size_t bytes) {
  return mapped(bytes, MAP_PRIVATE | MAP_ANONYMOUS, -1);
}

static void stay(void) {
  usleep(500000);
}

// A malloc under a name of its own, as programs of Rust have one: pieces of a mapping, never freed.
__attribute__((noinline)) void* mi_malloc(size_t bytes) {
  static char *next, *end;
  if ((size_t)(end - next) < bytes) {
    next = anonymous(4 * MIB);
    end = next + 4 * MIB;
  }
  next += bytes;
  return next - bytes;
}

static void* deep(void* unused) {
  filled(alloca(4 * MIB), 4 * MIB);
  pause();
  return unused;
}

static void hold_stacks(void) {
  pthread_t thread;
  for (int i = 0; i < THREADS; ++i) pthread_create(&thread, NULL, deep, NULL);
  stay();
}

static void hold_blocks(void) {
  for (int i = 0; i < 400000; ++i) filled(malloc(8 + i % 100), 8);
  for (int i = 0; i < 20; ++i) filled(malloc(MIB), MIB);
  stay();
}

// The blocks are freed where glibc maps them: what the program maps lies at their addresses.
static void hold_after_blocks(void) {
  void* blocks[8];
  for (int i = 0; i < 8; ++i) blocks[i] = filled(malloc(5 * MIB), 5 * MIB);
  for (int i = 0; i < 8; ++i) free(blocks[i]);
  filled(anonymous(40 * MIB), 40 * MIB);
  stay();
}

// A mapping of the program's that the kernel merges with a block's.
static void hold_beside_block(void) {
  filled(anonymous(40 * MIB), 40 * MIB);
  filled(malloc(MIB), MIB);
  stay();
}

static void hold_huge(void) {
  char* at = anonymous(42 * MIB);
  madvise(at, 42 * MIB, MADV_HUGEPAGE);
  filled(at, 42 * MIB);
  stay();
}

static void hold_shared(void) {
  const int file = memfd_create("memory", 0);
  if (ftruncate(file, 40 * MIB) == 0) filled(mapped(40 * MIB, MAP_SHARED, file), 40 * MIB);
  stay();
}

static void hold_zeroed(void) {
  filled(zeroed, sizeof zeroed);
  stay();
}

static void hold_break(void) {
  filled(sbrk(40 * MIB), 40 * MIB);
  stay();
}

static void hold_own(void) {
  for (int i = 0; i < 400000; ++i) filled(mi_malloc(100), 100);
  stay();
}

static void hold_in_children(void) {
  char* block = filled(malloc(20 * MIB), 20 * MIB);
  for (int i = 0; i < 3; ++i)
    if (fork() == 0) {
      filled(block, 20 * MIB);
      free(kept(malloc(100)));
      stay();
      exit(0);
    }
  while (wait(NULL) > 0) {
  }
}

// A copy that makes no call of malloc, and has its parent's blocks.
static void hold_in_silent_child(void) {
  filled(malloc(20 * MIB), 20 * MIB);
  if (fork() == 0) {
    filled(anonymous(40 * MIB), 40 * MIB);
    stay();
    _exit(0);
  }
  wait(NULL);
}

static const struct {
  const char* name;
  void (*hold)(void);
} kinds[] = {
    {"stacks", hold_stacks},
    {"blocks", hold_blocks},
    {"after", hold_after_blocks},
    {"beside", hold_beside_block},
    {"huge", hold_huge},
    {"shared", hold_shared},
    {"zeroed", hold_zeroed},
    {"break", hold_break},
    {"own", hold_own},
    {"children", hold_in_children},
    {"silent", hold_in_silent_child},
};

int main(int count, char** words) {
  free(kept(malloc(100)));
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; ++i)
    if (count > 1 && strcmp(words[1], kinds[i].name) == 0) kinds[i].hold();
  return 0;
}
