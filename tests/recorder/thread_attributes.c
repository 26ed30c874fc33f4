// Threads that call pthread_getattr_np before anything else: the C library calls realloc while it holds a
// lock of the thread. Each thread then acquires blocks at two depths, which deep stacks of every size must
// show.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>

enum { threads = 4, deep = 20 };

static void* volatile kept;

__attribute__((noinline)) static void leaf(size_t size) {
  kept = malloc(size);
  free(kept);
  __asm__ volatile("");
}

__attribute__((noinline)) static void descend(int depth) {
  char room[1 << 14];  // several pages below what was looked at before
  __asm__ volatile("" ::"r"(room) : "memory");
  if (depth == 0)
    leaf(30002);
  else
    descend(depth - 1);
  __asm__ volatile("");
}

static void* run(void* unused) {
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) abort();
  pthread_attr_destroy(&attributes);
  leaf(30001);
  descend(deep);
  return unused;
}

int main(void) {
  pthread_t all[threads];
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  for (int number = 0; number < threads; ++number) {
    // The last has a stack that the program provides, without a guard page.
    static char own_stack[1 << 20] __attribute__((aligned(4096)));
    if (number == threads - 1) pthread_attr_setstack(&attributes, own_stack, sizeof own_stack);
    if (pthread_create(&all[number], &attributes, run, NULL) != 0) return 1;
  }
  for (int number = 0; number < threads; ++number) pthread_join(all[number], NULL);
  return 0;
}
