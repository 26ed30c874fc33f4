// Usage: frugal [MIB]
//
// Allocates, resizes and frees in two threads and takes every refusal as it comes: whatever the system
// refuses, the outcome is memory or null with ENOMEM, and contents stay. With MIB it runs in so many MiB of
// address space (RLIMIT_AS) and uses them up, twice: it must be given some, and as much again.
// Exit status 0: so it is, 1: not (a line says what), 2: wrong usage, 3: the limit leaves no room to begin.
#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "check/blocks.h"

namespace {

using heaplab::testing::fill;
using heaplab::testing::holds;
using heaplab::testing::is_zero;

// No stdio: it allocates.
void require(bool holds, const char* what) {
  if (holds) return;
  if (write(STDERR_FILENO, what, std::strlen(what)) < 0 || write(STDERR_FILENO, "\n", 1) < 0) std::_Exit(1);
  std::_Exit(1);
}

void* checked(void* block) {
  require(block != nullptr || errno == ENOMEM, "null without ENOMEM");
  errno = 0;
  return block;
}

constexpr unsigned count = 100;
constexpr std::size_t checked_bytes = 1000;

struct holding {
  void* block;
  std::size_t size;

  std::size_t sample() const { return size < checked_bytes ? size : checked_bytes; }
};

std::size_t size_of(unsigned i) {
  constexpr std::size_t sizes[] = {16, 100, 300, 2000, 9000, 40000, 200000, 700000, 1500000, 3000000};
  return sizes[i * 7 % 10] + i;
}

void* allocate(unsigned i, std::size_t size) {
  void* block = nullptr;
  switch (i % 4) {
    case 0:
      return checked(std::malloc(size));
    case 1:
      block = checked(std::calloc(size, 1));
      require(block == nullptr || is_zero(block, size), "calloc: not zero");
      return block;
    case 2:
      return checked(aligned_alloc(std::size_t{64} << i % 16, size));
    default: {
      const int error = posix_memalign(&block, 4096, size);
      require(error == 0 || error == ENOMEM, "posix_memalign: neither memory nor ENOMEM");
      return error == 0 ? block : nullptr;
    }
  }
}

void resize(holding& one, unsigned i, std::size_t size) {
  void* const moved = checked(std::realloc(one.block, size));
  const std::size_t kept = one.sample() < size ? one.sample() : size;
  require(holds(moved == nullptr ? one.block : moved, kept, i), "realloc: contents lost");
  if (moved == nullptr) return;
  one = {moved, size};
  fill(moved, one.sample(), i);
}

void work(unsigned seed) {
  holding held[count] = {};
  for (unsigned i = 0; i < count; ++i) {
    const std::size_t size = size_of(i + seed);
    held[i] = {allocate(i, size), size};
    if (held[i].block != nullptr) fill(held[i].block, held[i].sample(), i);
    if (i % 3 == 0 && held[i].block != nullptr) resize(held[i], i, size_of(i + seed + 1 + i % 5));
  }
  for (unsigned i = 0; i < count; ++i) {
    if (held[i].block == nullptr) continue;
    require(holds(held[i].block, held[i].sample(), i), "contents lost");
    std::free(held[i].block);
  }
}

void* in_thread(void*) {
  work(3);
  return nullptr;
}

void work_in_two_threads() {
  pthread_t other;
  work(0);
  if (pthread_create(&other, nullptr, in_thread, nullptr) == 0) pthread_join(other, nullptr);
  work(1);
}

struct link {
  link* next;
};

// Bytes of blocks of `size` until there are no more; then frees them.
std::size_t use_up(std::size_t size) {
  link* all = nullptr;
  std::size_t bytes = 0;
  while (auto* const one = static_cast<link*>(checked(std::malloc(size)))) {
    one->next = all;
    all = one;
    bytes += size;
  }
  while (all != nullptr) std::free(std::exchange(all, all->next));
  return bytes;
}

int run_limited(std::size_t limit) {
  const std::size_t first = use_up(2000);
  // An allocator may spread its blocks over the address space.
  require(first >= limit / 8, "less than an eighth of the limit was given");
  require(use_up(2000) >= first / 8 * 7, "what was freed is not given again");
  use_up(300);
  use_up(3000000);
  work_in_two_threads();
  return 0;
}

}  // namespace

int main(int argument_count, char** arguments) {
  if (argument_count == 1) {
    work_in_two_threads();
    return 0;
  }
  char* end = nullptr;
  const std::size_t limit = std::strtoul(arguments[1], &end, 10) << 20;
  if (argument_count != 2 || limit == 0 || *end != '\0')
    return std::fputs("usage: frugal [MIB]\n", stderr), 2;
  rlimit now;
  getrlimit(RLIMIT_AS, &now);
  if (now.rlim_cur == limit) return run_limited(limit);
  // The malloc library must begin under the limit.
  now.rlim_cur = limit;
  setrlimit(RLIMIT_AS, &now);
  execv("/proc/self/exe", arguments);
  return 3;
}
