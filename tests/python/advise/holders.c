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
  rest();
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

// --- growth, and what looks like growth ---
enum { requests = 40000 };

static uint64_t drawn(void) {
  static uint64_t state = 1;
  state = state * 6364136223846793005u + 1442695040888963407u;
  return state >> 33;
}

SITE handled(size_t bytes) {
  return filled(malloc(bytes), bytes);
}

// Blocks of one site live for 50 requests; the program forgets one in five.
static void one_in_five(void) {
  for (int i = 0; i < requests; ++i) {
    free(blocks[i % 50]);
    blocks[i % 50] = handled(200);
    if (i % 5 == 0) blocks[i % 50] = NULL;
    if (i % 4000 == 0) rest();
  }
}

static void beside_bursts(void) {
  for (int i = 0; i < requests / 2; ++i) {
    forgotten(100);
    if (i % 1000 != 0) continue;
    for (int k = 0; k < 60; ++k) blocks[k] = temporary(10000);
    for (int k = 0; k < 60; ++k) free(blocks[k]);
    rest();
  }
}

#define WORKER(name)                     \
  SITE worker_##name(size_t bytes) {     \
    return filled(malloc(bytes), bytes); \
  }
#define TEN(of, tens)                                                                             \
  of(tens##0) of(tens##1) of(tens##2) of(tens##3) of(tens##4) of(tens##5) of(tens##6) of(tens##7) \
      of(tens##8) of(tens##9)
// clang-format takes these for types.
// clang-format off
TEN(WORKER, 1)
TEN(WORKER, 2)
TEN(WORKER, 3)
// clang-format on
#define NAME(name) worker_##name,
static void* (*const workers[])(size_t) = {TEN(NAME, 1) TEN(NAME, 2) TEN(NAME, 3)};

// Thirty sites keep blocks for 300 requests; the tenth forgets each of its blocks, or all forget one in four.
static void forget(int (*lost)(int request)) {
  for (int i = 0; i < 300000; ++i) {
    free(blocks[i % 300]);
    blocks[i % 300] = workers[i % 30](64 + i % 30 * 8);
    if (lost(i)) blocks[i % 300] = NULL;
    if (i % 30000 == 0) rest();
  }
}
static int at_tenth(int request) {
  return request % 30 == 9;
}
static int anywhere(int request) {
  return drawn() % 4 == 0 && request >= 0;
}
static void among(void) {
  forget(at_tenth);
}
static void everywhere(void) {
  forget(anywhere);
}

// 2 MB are forgotten beside 20 MB that live all the time.
static void slow(void) {
  for (int i = 0; i < 2000; ++i) blocks[i] = long_lived(10000);
  for (int i = 0; i < requests / 2; ++i) {
    forgotten(100);
    free(temporary(1000));
    if (i % 2000 == 0) rest();
  }
}

// It holds 20 MB to its end, and frees them as its last act.
static void tidy(void) {
  for (int i = 0; i < requests; ++i) {
    blocks[i] = long_lived(100 + (unsigned)i * 7919u % 900);
    if (i % 8000 == 0) rest();
  }
  for (int i = 0; i < 50; ++i) rest();
  for (int i = 0; i < requests; ++i) free(blocks[i]);
}

// A burst, then nothing for a while: allocators that purge by time do so.
static void rests(void) {
  for (int i = 0; i < 60; ++i) {
    for (int k = 0; k < 1000; ++k) blocks[1000 * i + k] = temporary(1000);
  }
  for (int i = 0; i < 60000; ++i) free(blocks[i]);
  for (int i = 0; i < 40; ++i) {
    rest();
    free(temporary(100));
  }
}

// A cache that is full after a twentieth of the run, and lets go of what was not used for longest.
static void bounded(void) {
  enum { entries = 2000 };
  static int used[entries];
  for (int i = 0; i < requests; ++i) {
    int at = i % entries;
    if (i >= entries)
      for (int k = 0; k < 8; ++k) {
        int other = (int)(drawn() % entries);
        if (used[other] < used[at]) at = other;
      }
    used[at] = i;
    used[drawn() % entries] = i;
    free(blocks[at]);
    blocks[at] = cached(300);
    if (i % 4000 == 0) rest();
  }
}

// A hash table whose array doubles; destructors free its nodes.
struct node {
  struct node* next;
  uint64_t key;
};
static struct node** buckets;
static size_t bucket_count, node_count;

SITE table_array(size_t bytes) {
  return memset(malloc(bytes), 0, bytes);
}
SITE table_node(size_t bytes) {
  return filled(malloc(bytes), bytes);
}
static void grow_table(void) {
  size_t before = bucket_count;
  struct node** old = buckets;
  bucket_count = before ? 2 * before : 64;
  buckets = table_array(bucket_count * sizeof *buckets);
  for (size_t i = 0; i < before; ++i)
    for (struct node *at = old[i], *next; at; at = next) {
      next = at->next;
      at->next = buckets[at->key % bucket_count];
      buckets[at->key % bucket_count] = at;
    }
  free(old);
}
static void insert(uint64_t key) {
  if (node_count++ >= bucket_count) grow_table();
  struct node* made = table_node(sizeof *made);
  made->key = key;
  made->next = buckets[key % bucket_count];
  buckets[key % bucket_count] = made;
}
static void free_table(void) {
  for (size_t i = 0; i < bucket_count; ++i)
    for (struct node *at = buckets[i], *next; at; at = next) {
      next = at->next;
      free(at);
    }
  free(buckets);
}
static void table(void) {
  atexit(free_table);
  for (int i = 0; i < requests; ++i) {
    insert(drawn());
    free(temporary(200));
    if (i % 4000 == 0)
      for (int k = 0; k < 3; ++k) rest();  // so that no pause of a busy machine is a rest beside them
  }
}

// An array alone, as of open addressing: one block that doubles.
static void doubling(void) {
  static char* array;
  size_t room = 64;
  array = table_array(room);
  for (size_t used = 0; used < 4u << 20; used += 64) {
    if (used == room) {
      char* larger = table_array(2 * room);
      memcpy(larger, array, room);
      free(array);
      array = larger;
      room *= 2;
    }
    free(temporary(200));
    if (used % (1u << 19) == 0) rest();
  }
}

// Data is read for six tenths of the run; then it is used.
static void warm_up(void) {
  for (int i = 0; i < requests; ++i) {
    if (i < requests * 6 / 10) blocks[i] = long_lived(300);
    for (int k = 0; k < 2; ++k) free(temporary(200));
    if (i % 4000 == 0) rest();
  }
}

// The first half of the run is free of faults; then one in ten is forgotten.
static void late(void) {
  for (int i = 0; i < requests; ++i) {
    free(blocks[i % 50]);
    blocks[i % 50] = handled(200);
    if (i > requests / 2 && i % 10 == 0) blocks[i % 50] = NULL;
    if (i % 4000 == 0) rest();
  }
}

// Many blocks are read at once; then the program serves requests, of which each forgets a block: a sixth of
// all acquisitions.
static void behind_base(void) {
  for (int i = 0; i < 200000; ++i) long_lived(100);
  for (int i = 0; i < 20000; ++i) {
    forgotten(100);
    free(temporary(900));
    if (i % 1000 == 0) rest();
  }
}

// The call site of what was read also has the blocks of requests, of which one in twenty is forgotten.
static void after_base(void) {
  for (int i = 0; i < 50000; ++i) blocks[i] = handled(400);
  for (int i = 0; i < 100000; ++i) {
    void* made = handled(400);
    if (i % 20 != 0) free(made);
    if (i % 5000 == 0) rest();
  }
}

// Three times data is gathered and dropped, the last time at the end.
static void sawtooth(void) {
  for (int tooth = 0; tooth < 3; ++tooth) {
    for (int i = 0; i < 30000; ++i) {
      blocks[i] = handled(200);
      if (i % 5000 == 0) rest();
    }
    for (int i = 0; i < 30000; ++i) free(blocks[i]);
  }
}

// Names are kept for good when they are first met, ever fewer of them.
static void saturating(void) {
  static void* names[16000];
  for (int i = 0; i < requests; ++i) {
    int name = (int)(drawn() % 16000);
    if (!names[name]) names[name] = cached(100);
    free(temporary(200));
    if (i % 4000 == 0) rest();
  }
}

// Texts grow by realloc; of each fiftieth the last block is forgotten.
static void grown(void) {
  for (int i = 0; i < requests; ++i) {
    char* text = handled(40);
    for (size_t bytes = 80; bytes <= 320; bytes *= 2) text = realloc(text, bytes);
    if (i % 50 != 0) free(text);
    if (i % 4000 == 0) rest();
  }
}

// Sessions of very different length: half end at once, some live for a tenth of the run; none is forgotten.
static void sessions(void) {
  static struct {
    void* block;
    int end;
  } open[4000];
  for (int i = 0; i < requests; ++i) {
    for (int k = 0; k < 4; ++k) {
      int at = (int)(drawn() % 4000);
      if (open[at].block && open[at].end > i) continue;
      free(open[at].block);
      open[at].block = handled(300);
      open[at].end = i + (int)(20 * (1 + 200 / (1 + drawn() % 200)));
    }
    if (i % 4000 == 0) rest();
  }
}

// Trees that are built and torn down, one generation after the other.
static void generations(void) {
  for (int generation = 0; generation < 10; ++generation) {
    for (int i = 0; i < 6000; ++i) blocks[i] = handled(100 + i % 7 * 16);
    rest();
    for (int i = 0; i < 6000; ++i) free(blocks[i]);
  }
}

// A queue that is always full: what is oldest goes first.
static void queue(void) {
  for (int i = 0; i < requests; ++i) {
    free(blocks[i % 8000]);
    blocks[i % 8000] = handled(100 + i % 300);
    if (i % 4000 == 0) rest();
  }
}

int main(int argc, char** argv) {
  static const struct {
    const char* name;
    void (*run)(void);
  } programs[] = {{"leak", leak},
                  {"cache", cache},
                  {"retained", retained},
                  {"pinned", pinned},
                  {"separated", separated},
                  {"regrowth", regrowth},
                  {"nothing", nothing},
                  {"steady", steady},
                  {"one_in_five", one_in_five},
                  {"beside_bursts", beside_bursts},
                  {"among", among},
                  {"everywhere", everywhere},
                  {"slow", slow},
                  {"tidy", tidy},
                  {"rests", rests},
                  {"bounded", bounded},
                  {"table", table},
                  {"doubling", doubling},
                  {"warm_up", warm_up},
                  {"late", late},
                  {"grown", grown},
                  {"sessions", sessions},
                  {"generations", generations},
                  {"queue", queue},
                  {"behind_base", behind_base},
                  {"after_base", after_base},
                  {"sawtooth", sawtooth},
                  {"saturating", saturating}};
  for (unsigned i = 0; i < sizeof programs / sizeof *programs; ++i)
    if (argc == 2 && strcmp(argv[1], programs[i].name) == 0) {
      programs[i].run();
      tell_memory();
      return 0;
    }
  return 2;
}
