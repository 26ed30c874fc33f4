// A server with a known answer: what grows while it serves, among thirty sites whose blocks come and go, and
// blocks that are older. Ends with status 0 on a line from standard input.
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WORKERS = 30, MOST = 1 << 20, OLD = 5000, OLD_BYTES = 1000, STAYS = 400, EVERY = 16 };

static void* entries[MOST];
static void* older[OLD];

#define SITE(name)                                            \
  __attribute__((noinline)) static void* name(size_t bytes) { \
    return memset(malloc(bytes), 1, bytes);                   \
  }
SITE(forgotten)
SITE(cached)
SITE(lasting)
#define WORKER(number) SITE(worker_##number)
#define NAME(number) worker_##number,
#define TEN(of, tens)                                                                             \
  of(tens##0) of(tens##1) of(tens##2) of(tens##3) of(tens##4) of(tens##5) of(tens##6) of(tens##7) \
      of(tens##8) of(tens##9)
#define THIRTY(of) TEN(of, 1) TEN(of, 2) TEN(of, 3)
THIRTY(WORKER)
static void* (*const workers[WORKERS])(size_t) = {THIRTY(NAME)};

// Replaces its older half bit by bit, and grows.
static void serve_from_cache(size_t request) {
  if (request >= MOST) return;
  entries[request] = cached(STAYS);
  free(entries[request / 2]);
  entries[request / 2] = cached(STAYS);
}

static int is_over(void) {
  struct pollfd input = {0, POLLIN, 0};
  return poll(&input, 1, 1) != 0;
}

int main(int count, char** words) {
  const int leaks = count > 1 && strcmp(words[1], "leak") == 0;
  const int caches = count > 1 && strcmp(words[1], "cache") == 0;
  for (size_t i = 0; i < OLD; ++i) older[i] = lasting(OLD_BYTES);
  size_t request = 0;
  for (; request < OLD; ++request)
    if (caches) serve_from_cache(request);
  if (write(1, "ready\n", 6) != 6) return 1;
  for (; request % EVERY != 0 || !is_over(); ++request) {
    void* work[WORKERS];
    for (size_t i = 0; i < WORKERS; ++i) work[i] = workers[i](100 + 10 * i);
    if (leaks) forgotten(STAYS);
    if (caches) serve_from_cache(request);
    for (size_t i = 0; i < WORKERS; ++i) free(work[i]);
  }
  return 0;
}
