// Plants a survivor in a server that was built without: of every eighth read() a record stays, from malloc,
// or with PLANTED=apart from a pool of its own.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { record = 64, chunk = 1 << 16, share = 8 };

static void* pooled(void) {
  static char *next, *end;
  if (end - next < record) {
    next = mmap(NULL, chunk, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    end = next + chunk;
  }
  next += record;
  return next - record;
}

__attribute__((noinline)) void* planted_survivor(void) {
  static int apart = -1;
  if (apart < 0) apart = getenv("PLANTED") && strcmp(getenv("PLANTED"), "apart") == 0;
  return memset(apart ? pooled() : malloc(record), 1, record);
}

// With PLANTED_TRIM=1 malloc_trim is called at most once a second.
static void trim_now_and_then(void) {
  static time_t last;
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  const char* const wanted = getenv("PLANTED_TRIM");
  if (!wanted || *wanted == 0 || now.tv_sec == last) return;
  last = now.tv_sec;
  malloc_trim(0);
}

ssize_t read(int file, void* into, size_t bytes) {
  static ssize_t (*next)(int, void*, size_t);
  static unsigned calls;
  if (!next) next = (ssize_t(*)(int, void*, size_t))dlsym(RTLD_NEXT, "read");
  if (++calls % share == 0) planted_survivor();
  trim_now_and_then();
  return next(file, into, bytes);
}
