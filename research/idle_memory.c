// Writes and frees LIVE bytes in blocks of SIZE, rests, and prints the anonymous memory that is left, in KiB.
// Usage: idle_memory SIZE LIVE MILLISECONDS
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static long resident(void) {
  long kilobytes = -1;
  char line[128];
  FILE* status = fopen("/proc/self/status", "r");
  if (!status) abort();
  while (fgets(line, sizeof line, status)) sscanf(line, "RssAnon: %ld kB", &kilobytes);
  fclose(status);
  return kilobytes;
}

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  size_t size = strtoul(argv[1], NULL, 10), blocks = strtoul(argv[2], NULL, 10) / size;
  // In no heap, so that the table of blocks is not what is left.
  char** block =
      mmap(NULL, blocks * sizeof *block, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (block == MAP_FAILED) abort();
  long before = resident();
  for (size_t i = 0; i < blocks; ++i) {
    block[i] = malloc(size);
    if (!block[i]) abort();
    memset(block[i], 1, size);
  }
  for (size_t i = 0; i < blocks; ++i) free(block[i]);
  munmap(block, blocks * sizeof *block);
  usleep((useconds_t)(strtoul(argv[3], NULL, 10) * 1000));
  printf("%ld\n", resident() - before);
  return 0;
}
