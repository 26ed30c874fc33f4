// Allocates after the process has used up the keys for thread-specific data before its first malloc. Written
// in C, because the C++ run-time library allocates before main. Exit status 0: memory was served in two
// threads, 1: it was not.
#include <pthread.h>
#include <stdlib.h>

static void* allocate(void* unused) {
  (void)unused;
  for (int i = 0; i < 1000; ++i) {
    char* const block = malloc(100 + i);
    if (block == NULL) exit(1);
    block[0] = 1;
    free(block);
  }
  return NULL;
}

int main(void) {
  pthread_key_t key;
  pthread_t thread;
  while (pthread_key_create(&key, NULL) == 0) {
  }
  allocate(NULL);
  if (pthread_create(&thread, NULL, allocate, NULL) != 0) return 1;
  return pthread_join(thread, NULL);
}
