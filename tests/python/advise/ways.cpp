// Programs that could use their blocks otherwise, or not: what would that give? `ways NAME reserved` is the
// same program with the change made.
#include <sys/resource.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <vector>

#define SITE __attribute__((noinline)) static
static bool changed = false;

SITE void* filled(void* block, size_t bytes) {
  return memset(block, 1, bytes);
}

// Lines of a file, in a buffer that grows by a line's length.
SITE char* longer(char* buffer, size_t bytes) {
  return static_cast<char*>(realloc(buffer, bytes));
}
static void lines() {
  constexpr size_t step = 64, most = 16384;
  for (int file = 0; file < 300; ++file) {
    char* buffer = changed ? static_cast<char*>(filled(malloc(most), 1)) : nullptr;
    for (size_t bytes = step; bytes <= most; bytes += step) {
      if (!changed) buffer = longer(buffer, bytes);
      filled(buffer + bytes - step, step);
    }
    free(buffer);
  }
}

// A vector that grows as vectors do.
SITE void pushed(std::vector<std::uint64_t>& to, std::uint64_t number) {
  to.push_back(number);
}
static void vectors() {
  constexpr int numbers = 1000;
  for (int round = 0; round < 2000; ++round) {
    std::vector<std::uint64_t> all;
    if (changed) all.reserve(numbers);
    for (int i = 0; i < numbers; ++i) pushed(all, static_cast<std::uint64_t>(i));
  }
}

// A copy of each key, to look at it.
SITE int copied(const char* key) {
  char on_stack[64];
  char* const copy = changed ? on_stack : static_cast<char*>(malloc(sizeof on_stack));
  strcpy(copy, key);
  const int found = copy[0];
  if (!changed) free(copy);
  return found;
}
static void keys() {
  int sum = 0;
  for (int i = 0; i < 400000; ++i) sum += copied("a key of some length");
  if (sum == 0) abort();
}

// Blocks of a burst, which live for long beside each other.
static void nothing() {
  std::vector<void*> kept(20000);
  for (int round = 0; round < 5; ++round) {
    for (void*& block : kept) block = filled(malloc(200), 200);
    for (void* const block : kept) free(block);
  }
}

// Bursts with pauses between, below a block that stays.
SITE void* large(size_t bytes) {
  return filled(malloc(bytes), bytes);
}
static void bursts() {
  void* blocks[400];
  void* last = nullptr;
  for (int burst = 0; burst < 4; ++burst) {
    for (void*& block : blocks) block = large(60000);
    if (!last) last = large(60000);
    for (void* const block : blocks) free(block);
    for (int quiet = 0; quiet < 40; ++quiet) {
      usleep(5000);
      for (int small = 0; small < 400; ++small) free(large(1000));
    }
  }
}

int main(int count, char** words) {
  static const struct {
    const char* name;
    void (*run)();
  } programs[] = {
      {"lines", lines}, {"vectors", vectors}, {"keys", keys}, {"nothing", nothing}, {"bursts", bursts}};
  changed = count > 2;
  for (const auto& program : programs)
    if (count > 1 && strcmp(words[1], program.name) == 0) {
      const clock_t begin = clock();
      program.run();
      printf("%.6f\n", static_cast<double>(clock() - begin) / CLOCKS_PER_SEC);
      return 0;
    }
  return 2;
}
