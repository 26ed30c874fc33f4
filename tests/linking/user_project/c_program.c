// A C program, linked against a malloc library as a user does. It must get by without a C++ run-time library.
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void* use_the_heap(void* unused) {
  (void)unused;
  char* copy = NULL;
  for (size_t size = 1; size < 4000000; size = size * 2 + 1) {
    char* const larger = realloc(copy, size);
    if (larger == NULL) exit(1);
    memset(larger, 1, size);
    copy = larger;
  }
  free(copy);
  void* aligned = NULL;
  if (posix_memalign(&aligned, 4096, 100) != 0) exit(1);
  free(aligned);
  return NULL;
}

int main(void) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, use_the_heap, NULL) != 0) return 1;
  pthread_join(thread, NULL);
  const pid_t child = fork();
  if (child == 0) {
    use_the_heap(NULL);
    _exit(0);
  }
  int status = 1;
  waitpid(child, &status, 0);
  // Only heaplab's malloc_info names an allocator.
  malloc_info(0, stdout);
  return status;
}
