// Calls a malloc that is linked into the program, from several threads and through pointers, then has the
// malloc print what it has counted: `llheap: malloc calls 8 ... requested 1024 ...`.
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

#ifndef OTHER_THREADS
#define OTHER_THREADS 4
#endif
enum { ROUNDS = 500 };

static void* (*volatile through)(size_t) = malloc;

static void* work(void* unused) {
  (void)unused;
  void* kept[8] = {0};
  for (unsigned round = 0; round < ROUNDS; ++round) {
    void** place = &kept[round % 8];
    free(*place);
    switch (round % 6) {
      case 0:
        *place = malloc(round + 1);
        break;
      case 1:
        *place = through(2 * round + 1);
        break;
      case 2:
        *place = calloc(round, 3);
        break;
      case 3:
        *place = realloc(malloc(10), 10 * round + 1);
        break;
      case 4:
        *place = aligned_alloc(64, 64 * (round % 8 + 1));
        break;
      case 5:
        *place = realloc(0, round);
        break;
    }
  }
  for (int place = 0; place < 8; ++place) free(kept[place]);
  return 0;
}

int main(void) {
  pthread_t threads[OTHER_THREADS + 1];
  for (int number = 0; number < OTHER_THREADS; ++number) pthread_create(&threads[number], 0, work, 0);
  work(0);
  for (int number = 0; number < OTHER_THREADS; ++number) pthread_join(threads[number], 0);
  malloc_stats();
  return 0;
}
