// Programs of which one call site pins pages, with a switch that separates it in code: `separable CASE` lets
// long-lived blocks come from malloc, `separable CASE apart` from a pool of their own. A number behind is the
// bytes that are allocated first, in blocks of 1 KiB, which moves all others. Each prints its anonymous
// memory in KiB when only the long-lived blocks are left.
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#define SITE __attribute__((noinline)) static
static bool apart = false;

SITE void* filled(void* block, size_t bytes) {
  return memset(block, 1, bytes);
}
SITE void* temporary(size_t bytes) {
  return filled(malloc(bytes), bytes);
}

// A pool of chunks, one of each thread.
SITE void* pooled(size_t bytes) {
  constexpr size_t chunk = 1 << 16;
  static thread_local char *next = nullptr, *end = nullptr;
  bytes = (bytes + 15) / 16 * 16;
  if (static_cast<size_t>(end - next) < bytes) {
    next =
        static_cast<char*>(mmap(nullptr, chunk, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    end = next + chunk;
  }
  next += bytes;
  return next - bytes;
}
SITE void* long_lived(size_t bytes) {
  return filled(apart ? pooled(bytes) : malloc(bytes), bytes);
}

struct random_numbers {
  std::uint64_t state;
  std::uint64_t below(std::uint64_t bound) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    return (state >> 33) % bound;
  }
};

// A burst of `bytes` in temporary blocks of sizes from `least` to `most`; one of `share` blocks stays, at
// random, with its own size.
struct burst {
  size_t bytes, least, most, share, kept;
};
static void carry_out(const burst& of, std::uint64_t seed) {
  random_numbers random{seed};
  std::vector<void*> blocks;
  for (size_t done = 0; done < of.bytes;) {
    const size_t size = of.least + random.below(of.most - of.least + 1);
    blocks.push_back(temporary(size));
    if (random.below(of.share) == 0) long_lived(of.kept);
    done += size;
  }
  for (void* const block : blocks) free(block);
}

constexpr burst uniform = {16 << 20, 192, 192, 20, 192};
constexpr burst mixed = {16 << 20, 16, 512, 30, 48};
constexpr burst large = {32 << 20, 1000, 4000, 4, 1500};
constexpr burst rare = {32 << 20, 16, 2000, 200, 300};

static void* in_thread(void* seed) {
  carry_out(uniform, reinterpret_cast<std::uintptr_t>(seed));
  return nullptr;
}
static void threads() {
  pthread_t all[4];
  for (std::uintptr_t at = 0; at < 4; ++at)
    pthread_create(&all[at], nullptr, in_thread, reinterpret_cast<void*>(at + 1));
  for (const pone_t thread : all) pone_join(thread, nullptr);
}

// Without an allocation: it could move what is free together, and give it back.
static void tell_memory() {
  char text[8192];
  const int file = open("/proc/self/status", O_RDONLY);
  const ssize_t length = read(file, text, sizeof text - 1);
  if (length <= 0) exit(1);
  text[length] = '\0';
  const int told = snprintf(text, sizeof text, "%ld\n", strtol(strstr(text, "RssAnon:") + 8, nullptr, 10));
  if (write(1, text, static_cast<size_t>(told)) != told) exit(1);
}

int main(int count, char** words) {
  if (count < 2) return 2;
  apart = count > 2 && strcmp(words[2], "apart") == 0;
  for (size_t first = strtoul(words[count - 1], nullptr, 10) / 1024; first > 0; --first)
    filled(malloc(1024), 1024);
  const auto is = [words](const char* name) { return strcmp(words[1], name) == 0; };
  if (is("uniform")) carry_out(uniform, 1);
  if (is("mixed")) carry_out(mixed, 1);
  if (is("large")) carry_out(large, 1);
  if (is("rare")) carry_out(rare, 1);
  if (is("bursts"))
    for (std::uint64_t seed = 1; seed <= 4; ++seed) carry_out(mixed, seed);
  if (is("threads")) threads();
  usleep(100000);
  tell_memory();
  return 0;
}
