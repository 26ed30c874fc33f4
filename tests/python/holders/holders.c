// Programs whose answer is known: what holds their memory, and what would give it back? Each prints its
// anonymous memory in KiB when it rests at the end, so that an answer can be compared with the program
// itself.
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { block_bytes = 192, of_page = 20, pages = 4000, burst = of_page * pages };

static void* blocks[burst];
static void* kept[pages];

#define SITE __attribute__((noinline)) static void*
static void* filled(void* block, size_t bytes) {
  return memset(block, 1, bytes);
}
SITE temporary(size_t bytes) {
  return filled(malloc(bytes), bytes);
}
SITE forgotten(size_t bytes) {
  return filled(malloc(bytes), bytes);
}
SITE cached(size_t bytes) {
  return filled(malloc(bytes), bytes);
}
SITE long_lived(size_t bytes) {
  return filled(malloc(bytes), bytes);
}

// The same long-lived blocks from a pool: what a program does that separates them.
SITE pooled(size_t bytes) {
  static char *next, *end;
  if ((size_t)(end - next) < bytes) {
    next = mmap(NULL, 1 << 16, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    end = next + (1 << 16);
  }
  next += bytes;
  return filled(next - bytes, bytes);
}

static void rest(void) {
  usleep(40000);
}

static void tell_memory(void) {
  static char text[8192];
  int file = open("/proc/self/status", O_RDONLY);
  if (read(file, text, sizeof text - 1) <= 0) exit(1);
  close(file);
  dprintf(1, "%s\n", strtok(strstr(text, "RssAnon:") + 8, " \tk"));
}

// Requests whose records nobody frees.
static void leak(void) {
  for (int request = 0; request < 40000; ++request) {
    void* work = temporary(200);
    forgotten(400);
    free(work);
    if (request % 4000 == 0) rest();
  }
}

// A cache that replaces some entries, and grows.
static void cache(void) {
  static void* entries[40000];
  for (int request = 0; request < 40000; ++request) {
    entries[request] = cached(400);
    free(temporary(200));
    int replaced = request / 2;
    if (request % 4 == 0) {
      free(entries[replaced]);
      entries[replaced] = cached(400);
    }
    if (request % 4000 == 0) rest();
  }
}

// A burst of temporary blocks; one block of each page stays, from another call site.
static void burst_with(void* (*survivor)(size_t)) {
  for (int i = 0; i < burst; ++i) {
    blocks[i] = i % of_page == of_page - 1 ? NULL : temporary(block_bytes);
    if (!blocks[i]) kept[i / of_page] = survivor(block_bytes);
  }
  for (int i = 0; i < burst; ++i) free(blocks[i]);
}

static void pinned(void) {
  burst_with(long_lived);
  rest();
  rest();
}
static void separated(void) {
  burst_with(pooled);
  rest();
  rest();
}

// Bursts of large blocks below one that stays: the C library gives back only what is free at its end.
static void large_burst(void) {
  enum { count = 300 };
  static void* last;
  for (int i = 0; i < count; ++i) blocks[i] = temporary(60000);
  if (!last) last = long_lived(60000);
  rest();
  for (int i = 0; i < count; ++i) free(blocks[i]);
  rest();
}

static void retained(void) {
  large_burst();
  rest();
  rest();
}
static void regrowth(void) {
  for (int i = 0; i < 5; ++i) large_burst();
}

// Small work, after which nothing is left.
static void nothing(void) {
  for (int i = 0; i < 40000; ++i) {
    blocks[i % 100] = temporary(block_bytes + i % 512);
    if (i % 100 == 99)
      for (int j = 0; j < 100; ++j) free(blocks[j]);
    if (i % 8000 == 0) rest();
  }
}

// As many blocks live all the time; they are replaced at random.
static void steady(void) {
  uint64_t state = 1;
  for (int i = 0; i < 20000; ++i) blocks[i] = temporary(block_bytes + i % 512);
  for (int i = 0; i < 100000; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    int at = (int)((state >> 33) % 20000);
    free(blocks[at]);
    blocks[at] = temporary(block_bytes + (state >> 40) % 512);
    if (i % 20000 == 0) rest();
  }
}

int main(int argc, char** argv) {
  static const struct {
    const char* name;
    void (*run)(void);
  } programs[] = {{"leak", leak},       {"cache", cache},         {"retained", retained},
                  {"pinned", pinned},   {"separated", separated}, {"regrowth", regrowth},
                  {"nothing", nothing}, {"steady", steady}};
  for (unsigned i = 0; i < sizeof programs / sizeof *programs; ++i)
    if (argc == 2 && strcmp(argv[1], programs[i].name) == 0) {
      programs[i].run();
      tell_memory();
      return 0;
    }
  return 2;
}
