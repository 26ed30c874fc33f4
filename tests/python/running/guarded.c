// Threads that notice whatever is done to them from outside: blocks, vector registers, errno, system calls
// that end early. Ends with status 0 on a line from standard input, or tells what was wrong.
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { BLOCKS = 256, WORKERS = 3, STILL = 4711 };

#ifdef __x86_64__
#define VECTOR "+x"
#else
#define VECTOR "+w"
#endif

static _Atomic int is_over;
static _Atomic unsigned long turns;
static int expects_interrupts;  // system calls that a stop may end with EINTR, signal(7)

static void wrong(const char* what) {
  dprintf(2, "wrong: %s, errno %d\n", what, errno);
  _exit(1);
}

static void* allocate(void* seed_of) {
  unsigned seed = (unsigned)(uintptr_t)seed_of;
  unsigned char* blocks[BLOCKS] = {0};
  size_t sizes[BLOCKS] = {0};
  for (unsigned long turn = 1; !is_over; ++turn) {
    seed = seed * 1103515245 + 12345;
    const unsigned place = seed >> 8 & (BLOCKS - 1);
    for (size_t i = 0; i < sizes[place]; ++i)
      if (blocks[place][i] != (unsigned char)place) wrong("a block");
    free(blocks[place]);
    sizes[place] = 1 + (seed >> 16) % 3000;
    blocks[place] = malloc(sizes[place]);
    memset(blocks[place], (int)place, sizes[place]);
    ++turns;
    if (turn % 64 == 0) usleep(100);
  }
  return NULL;
}

// Registers that a function may change, and errno, while a thread computes.
static void compute_once(void) {
  static double known;
  errno = STILL;
  double sum = 0, product = 1, first = 1.5;
  unsigned long whole = 0, expected = 0;
  for (int i = 0; i < 200000; ++i) {
    sum += first;
    product *= 1.0000001;
    whole = whole * 31 + (unsigned)i;
    __asm__ volatile("" : VECTOR(sum), VECTOR(product), VECTOR(first), "+r"(whole)::"memory");
  }
  for (int i = 0; i < 200000; ++i) expected = expected * 31 + (unsigned)i;
  if (known == 0) known = product;
  if (sum != 300000.0 || known != product) wrong("vector registers");
  if (whole != expected) wrong("registers");
  if (errno != STILL) wrong("errno of a thread that computes");
}

static void* compute(void* unused) {
  for (; !is_over; usleep(100)) compute_once();
  return unused;
}

// The one thread computes until there is a byte.
static int compute_alone(void) {
  struct pollfd input = {0, POLLIN, 0};
  if (write(1, "ready\n", 6) != 6) wrong("write");
  while (poll(&input, 1, 0) == 0)
    for (int i = 0; i < 20; ++i) compute_once();
  return 0;
}

static void* wait_for_events(void* unused) {
  const int events = epoll_create1(0);
  struct epoll_event event;
  while (!is_over) {
    errno = STILL;
    const int found = epoll_wait(events, &event, 1, 20);
    if (found < 0 && errno == EINTR && expects_interrupts) continue;
    if (found != 0) wrong("epoll_wait");
    if (errno != STILL) wrong("errno behind epoll_wait");
  }
  return unused;
}

static void* wait_for_a_pipe(void* pipe_of) {
  struct pollfd readable = {*(int*)pipe_of, POLLIN, 0};
  while (!is_over)
    if (poll(&readable, 1, 20) != 0) wrong("poll");
  return NULL;
}

static void* sleep_often(void* unused) {
  const struct timespec nap = {0, 20000000};
  while (!is_over)
    if (nanosleep(&nap, NULL) != 0) wrong("nanosleep");
  return unused;
}

static void* wait_in_vain(void* lock_of) {
  while (!is_over) {
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += 20000000;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    if (pthread_mutex_timedlock(lock_of, &until) != ETIMEDOUT) wrong("a lock");
  }
  return NULL;
}

int main(int count, char** words) {
  if (count > 1 && strcmp(words[1], "compute") == 0) return compute_alone();
  const int reads_stdio = count > 1 && strcmp(words[1], "stdio") == 0;
  expects_interrupts = count > 1 && strcmp(words[1], "interrupts") == 0;
  static int ends[2];
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  pthread_mutex_lock(&lock);
  if (pipe(ends) != 0) return 1;
  pthread_t threads[WORKERS + 5];
  int started = 0;
  for (uintptr_t i = 0; i < WORKERS; ++i) pthread_create(&threads[started++], NULL, allocate, (void*)(i + 1));
  pthread_create(&threads[started++], NULL, compute, NULL);
  pthread_create(&threads[started++], NULL, wait_for_events, NULL);
  pthread_create(&threads[started++], NULL, wait_for_a_pipe, &ends[0]);
  pthread_create(&threads[started++], NULL, sleep_often, NULL);
  pthread_create(&threads[started++], NULL, wait_in_vain, &lock);
  char byte = 0;
  if (write(1, "ready\n", 6) != 6) wrong("write");
  if (reads_stdio ? getchar() == EOF : read(0, &byte, 1) != 1) wrong("read");
  const unsigned long before = turns;
  usleep(50000);
  if (turns == before) wrong("threads stand still");
  is_over = 1;
  for (int i = 0; i < started; ++i) pthread_join(threads[i], NULL);
  return 0;
}
