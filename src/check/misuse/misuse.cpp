// Usage: misuse CASE
//
// Misuses the heap in a child process and reports how the library reacts:
//
//   detected      the library ends the process: SIGABRT, SIGTRAP, SIGILL, or exit
//   crashes       SIGSEGV or SIGBUS, at the faulty call or later
//   hangs         the child does not end within some seconds
//   overlapping   the heap goes on and returns blocks that overlap
//   silent        the heap goes on, and the misuse has no visible effect
//
// No program may rely on any of these reactions, so each is reported with exit status 0. 2: wrong usage.
#include <malloc.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <new>
#include <string_view>
#include <thread>

#include "check/blocks.h"
#include "check/children.h"
#include "check/ending.h"

namespace {

using heaplab::testing::opaque;

constexpr int overlapping = 10, silent = 11;
constexpr std::size_t small = 100, large = 100'000, huge = 8 << 20;

bool overlap(const char* memory, const char* other, std::size_t size) {
  return memory < other + size && other < memory + size;
}

// Whether new blocks of this size overlap each other or `held`, a live block of the same size.
int look(std::size_t size, const char* held = nullptr) {
  constexpr std::size_t count = 64;
  static char* blocks[count];
  for (char*& memory : blocks) {
    memory = static_cast<char*>(std::malloc(size));
    if (memory == nullptr) return silent;
    std::memset(memory, 0x55, size);
    if (held != nullptr && overlap(memory, held, size)) return overlapping;
  }
  std::sort(std::begin(blocks), std::end(blocks));
  for (std::size_t i = 1; i < count; ++i)
    if (overlap(blocks[i - 1], blocks[i], size)) return overlapping;
  return silent;
}

void free_now(void* block) {
  std::free(opaque(block));
}

int free_twice(std::size_t size) {
  void* const block = std::malloc(size);
  free_now(block);
  free_now(block);
  return look(size);
}

int free_twice_with_another_between(std::size_t size) {
  void* const block = std::malloc(size);
  void* const other = std::malloc(size);
  free_now(block);
  free_now(other);
  free_now(block);
  return look(size);
}

// The thread that has allocated the block frees it after another thread has.
int free_after_another_thread(std::size_t size) {
  void* const block = std::malloc(size);
  std::thread(free_now, block).join();
  free_now(block);
  return look(size);
}

// The memory of the first free has a new owner when the second free comes.
int free_of_reused(std::size_t size) {
  void* const block = std::malloc(size);
  free_now(block);
  char* const reused = static_cast<char*>(std::malloc(size));
  if (reused != block) return silent;
  free_now(block);
  return look(size, reused);
}

int free_at(void* wrong, std::size_t size = small) {
  free_now(wrong);
  return look(size);
}

int free_inside(std::size_t size, std::size_t offset) {
  auto* const block = static_cast<char*>(std::malloc(size));
  return free_at(block + offset, size);
}

int write_after_free(std::size_t size) {
  char* blocks[8];
  for (char*& memory : blocks) memory = static_cast<char*>(std::malloc(size));
  for (char* const memory : blocks) free_now(memory);
  for (char* const memory : blocks) std::memset(opaque(memory), 0x41, 16);
  return look(size);
}

// Then the library has occasion to notice.
int write_after_free_at(std::size_t size, std::size_t offset) {
  auto* const block = static_cast<char*>(std::malloc(size));
  free_now(block);
  opaque(block)[offset] = 0x41;
  for (unsigned i = 0; i < 10'000; ++i) free_now(std::malloc(size));
  return silent;
}

int read_after_free(std::size_t size) {
  auto* const block = static_cast<char*>(std::malloc(size));
  std::memset(block, 0x41, 16);
  free_now(block);
  for (std::size_t i = 0; i < size; ++i) opaque(opaque(block)[i]);
  return silent;
}

int use_block_of_no_bytes(bool writes) {
  auto* const block = static_cast<char*>(std::malloc(opaque(std::size_t{0})));
  if (writes)
    *opaque(block) = 0x41;
  else
    opaque(*opaque(block));
  free_now(block);
  return look(1);
}

int write_before_the_beginning(std::size_t size, std::size_t bytes) {
  char* blocks[8];
  for (char*& memory : blocks) memory = static_cast<char*>(std::malloc(size));
  char* const block = *std::max_element(std::begin(blocks), std::end(blocks));
  std::memset(opaque(block) - bytes, 0x41, bytes);
  free_now(block);
  return look(size, *std::min_element(std::begin(blocks), std::end(blocks)));
}

int write_past_the_end(std::size_t size, std::size_t excess) {
  auto* const block = static_cast<char*>(std::malloc(size));
  void* const next = std::malloc(size);
  const std::size_t end = malloc_usable_size(block);
  std::memset(opaque(block) + end, 0x41, excess);
  free_now(block);
  free_now(next);
  return look(size);
}

int delete_with_wrong_size(std::size_t size, std::size_t told) {
  ::operator delete(opaque(::operator new(size)), told);
  return look(told < 1 ? 1 : std::min(told, large));
}

int resize_after_free(std::size_t size) {
  void* const block = std::malloc(size);
  free_now(block);
  free_now(std::realloc(opaque(block), 2 * size));
  return look(size);
}

struct wrong {
  const char* name;
  int (*perform)();
};

char in_static_memory[4096];

constexpr wrong cases[] = {
    {"double_free_100B", [] { return free_twice(small); }},
    {"double_free_100KB", [] { return free_twice(large); }},
    {"double_free_8MiB", [] { return free_twice(huge); }},
    {"double_free_another_between_100B", [] { return free_twice_with_another_between(small); }},
    {"double_free_another_between_100KB", [] { return free_twice_with_another_between(large); }},
    {"double_free_after_another_thread_100B", [] { return free_after_another_thread(small); }},
    {"double_free_after_another_thread_100KB", [] { return free_after_another_thread(large); }},
    {"double_free_after_reuse_100B", [] { return free_of_reused(small); }},
    {"double_free_after_reuse_8MiB", [] { return free_of_reused(huge); }},
    {"realloc_after_free_100B", [] { return resize_after_free(small); }},
    {"free_of_stack",
     [] {
       alignas(64) char local[256];
       return free_at(opaque(local + 64));
     }},
    {"free_of_static_memory", [] { return free_at(opaque(in_static_memory + 64)); }},
    {"free_of_nowhere", [] { return free_at(reinterpret_cast<void*>(std::uintptr_t{0x1230})); }},
    {"free_inside_by_1", [] { return free_inside(small, 1); }},
    {"free_inside_by_16", [] { return free_inside(small, 16); }},
    {"free_inside_a_large_block", [] { return free_inside(huge, 4096); }},
    {"write_after_free_100B", [] { return write_after_free(small); }},
    {"write_after_free_100B_in_the_middle", [] { return write_after_free_at(small, 65); }},
    {"write_after_free_3000B_in_the_middle", [] { return write_after_free_at(3'000, 1'500); }},
    {"write_after_free_256KiB", [] { return write_after_free_at(256 << 10, 64 << 10); }},
    {"read_after_free_256KiB", [] { return read_after_free(256 << 10); }},
    {"read_after_free_8MiB", [] { return read_after_free(huge); }},
    {"read_of_no_bytes", [] { return use_block_of_no_bytes(false); }},
    {"write_of_no_bytes", [] { return use_block_of_no_bytes(true); }},
    {"write_before_the_beginning_by_16_of_3000B", [] { return write_before_the_beginning(3'000, 16); }},
    {"write_past_the_end_by_1", [] { return write_past_the_end(24, 1); }},
    {"write_past_the_end_by_64", [] { return write_past_the_end(24, 64); }},
    {"sized_delete_too_small", [] { return delete_with_wrong_size(1000, 16); }},
    {"sized_delete_too_large", [] { return delete_with_wrong_size(16, 1000); }},
};

const char* named(int status) {
  if (WIFSIGNALED(status)) {
    const int signal = WTERMSIG(status);
    if (signal == SIGALRM) return "hangs";
    return signal == SIGSEGV || signal == SIGBUS ? "crashes" : "detected";
  }
  switch (WEXITSTATUS(status)) {
    case overlapping:
      return "overlapping";
    case silent:
      return "silent";
    default:
      return "detected";
  }
}

}  // namespace

int main(int count, char** arguments) {
  for (const wrong& mistake : cases) {
    if (count != 2 || mistake.name != std::string_view(arguments[1])) continue;
    const pid_t child = fork();
    if (child == 0) {
      alarm(heaplab::check::child_limit_s);
      _exit(mistake.perform());
    }
    const int status = heaplab::check::status_of(child);
    return std::printf(R"({"says":"%s"})"
                       "\n",
                       named(status)) < 0;
  }
  return std::fputs("usage: misuse CASE\n", stderr), heaplab::check::wrong_usage;
}
