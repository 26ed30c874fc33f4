// Usage: probe TASK [SECONDS]
//
// Waits at most SECONDS, 30 unless told, where a task waits for memory to go back.
//
// Does one thing with the malloc that serves it and prints what became of it, a number or a word a line:
//
//   reuse       bytes that spans grow by when blocks are allocated after 3 of 10 of their kind were freed
//   retained    bytes that spans keep when 100 MiB of small blocks have been freed
//   replaced    bytes of anonymous memory of the process when the small blocks have been freed and a large
//               block of 100 MiB has been filled
//   reserved    bytes of address space held
//   flags       the kernel's flags (smaps, VmFlags) of the mapping that holds a small block
//   huge        bytes of anonymous memory that may be huge pages where the system gives them to everybody
//   resident    bytes of anonymous memory of the process with 100 KiB in small blocks
//   idle        bytes of anonymous memory that a program which does nothing keeps of 100 MiB of small
//               blocks and 20 MiB of large ones: when it has come below 16 MiB, or after SECONDS
//   thinned     bytes of anonymous memory that such a program keeps of 100 MiB of blocks of which one in 16
//               lives on: when they have come below 48 MiB, or after SECONDS
//   refused     "later" if a program in which no thread can be made gives the memory back when it next
//               allocates
//   child       "idle" for the child of a fork
//   single      "single" if the C library still knows of one thread alone while the heap has its own
//   locked      as resident with all memory locked, present and future; "refused" where it may not be
//   locked-out  "served" if small blocks are still to be had where no more memory can be locked
//
// Built with EARLY defined, it allocates before any constructor runs.
//
// Exit status 0: done, 1: memory was refused or a block lost its contents, 2: wrong usage.
#include <malloc.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/single_threaded.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "check/blocks.h"
#include "check/children.h"
#include "probes/process_memory.h"

namespace {

using heaplab::testing::fill;
using heaplab::testing::holds;

#ifdef EARLY
void before_constructors(int, char**, char**) {
  std::free(std::malloc(1));
}
[[gnu::section(".preinit_array"), gnu::used]] auto* const preinit = before_constructors;
#endif

void* allocate(std::size_t size) {
  void* const block = std::malloc(size);
  if (block == nullptr) std::_Exit(1);
  fill(block, size, 1);
  return block;
}

void release(void* block, std::size_t size) {
  if (!holds(block, size, 1)) std::_Exit(1);
  std::free(block);
}

constexpr std::size_t small_bytes = 64;
constexpr uid_t nobody = 65534;  // may not exceed a limit, as root may

void reuse() {
  constexpr std::size_t count = std::size_t{1} << 16;
  std::vector<void*> blocks(count);
  for (void*& memory : blocks) memory = allocate(small_bytes);
  for (std::size_t i = 0; i < count; ++i)
    if (i % 10 < 3) release(blocks[i], small_bytes);
  const std::size_t before = mallinfo2().arena;
  for (std::size_t i = 0; i < count / 4; ++i) allocate(small_bytes);
  std::printf("%zu\n", mallinfo2().arena - before);
}

void free_many_small_blocks() {
  constexpr std::size_t bytes = 1024;
  std::vector<void*> blocks((100U << 20) / bytes);
  for (void*& memory : blocks) memory = std::malloc(bytes);
  for (void* const memory : blocks) std::free(memory);
}

void retained() {
  free_many_small_blocks();
  std::printf("%zu\n", mallinfo2().arena);
}

// The number behind `label` in what malloc_info says.
void reserved() {
  char* text = nullptr;
  std::size_t length = 0;
  std::FILE* const stream = open_memstream(&text, &length);
  malloc_info(0, stream);
  std::fclose(stream);
  constexpr const char* label = "<aspace type=\"total\" size=\"";
  const char* const found = std::strstr(text, label);
  if (found == nullptr) std::_Exit(1);
  std::printf("%zu\n", std::strtoul(found + std::strlen(label), nullptr, 10));
  std::free(text);
}

struct mapping {
  std::uintptr_t begin = 0, end = 0;
  bool anonymous = false;  // and without a name, as the stack has one
  std::string flags;

  bool has(const char* flag) const { return flags.find(flag) != std::string::npos; }
};

std::vector<mapping> mappings() {
  std::vector<mapping> result;
  std::ifstream maps("/proc/self/smaps");
  for (std::string line; std::getline(maps, line);) {
    mapping next;
    unsigned long file;
    int path = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx %*s %*s %*s %lu %n", &next.begin, &next.end, &file, &path) == 3) {
      next.anonymous = file == 0 && line.size() <= static_cast<std::size_t>(path);
      result.push_back(next);
    } else if (line.starts_with("VmFlags:")) {
      result.back().flags = line.substr(8);
    }
  }
  return result;
}

void flags() {
  const auto address = reinterpret_cast<std::uintptr_t>(allocate(small_bytes));
  for (const mapping& mapped : mappings())
    if (mapped.begin <= address && address < mapped.end) std::printf("%s\n", mapped.flags.c_str());
}

void huge() {
  allocate(small_bytes);
  allocate(200'000);
  constexpr std::uintptr_t page = std::uintptr_t{2} << 20;
  std::size_t bytes = 0;
  for (const mapping& mapped : mappings()) {
    const std::uintptr_t begin = (mapped.begin + page - 1) / page * page, end = mapped.end / page * page;
    if (mapped.anonymous && mapped.has(" wr") && !mapped.has(" nh") && begin < end) bytes += end - begin;
  }
  std::printf("%zu\n", bytes);
}

std::size_t anonymous_bytes() {
  return heaplab::probes::process_memory().read().anonymous;
}

void resident() {
  std::vector<void*> blocks;
  for (std::size_t i = 0; i < 1000; ++i) blocks.push_back(allocate(i % 200));
  std::printf("%zu\n", anonymous_bytes());
  for (std::size_t i = 0; i < 1000; ++i) release(blocks[i], i % 200);
}

constexpr std::size_t idle_limit = 16U << 20;

void free_many_blocks() {
  free_many_small_blocks();
  constexpr std::size_t bytes = 4U << 20;
  void* blocks[5];
  for (void*& memory : blocks) memory = allocate(bytes);
  for (void* const memory : blocks) release(memory, bytes);
}

// The memory goes back after two or three decay periods of a second, later where other processes are busy.
unsigned longest_wait = 30;  // s

// What no call of malloc or free leaves, for at most longest_wait.
std::size_t left_when_idle(std::size_t limit = idle_limit) {
  for (unsigned waits = 0; waits < 10 * longest_wait && anonymous_bytes() >= limit; ++waits) usleep(100'000);
  return anonymous_bytes();
}

void thinned() {
  constexpr std::size_t sizes[] = {1000, 20'000}, count[] = {50'000, 2'500};
  std::vector<void*> blocks[2];
  for (unsigned kind = 0; kind < 2; ++kind)
    for (std::size_t i = 0; i < count[kind]; ++i) blocks[kind].push_back(allocate(sizes[kind]));
  const auto each = [&](bool lives, auto&& visit) {
    for (unsigned kind = 0; kind < 2; ++kind)
      for (std::size_t i = 0; i < count[kind]; ++i)
        if ((i % 16 == 0) == lives) visit(blocks[kind][i], sizes[kind]);
  };
  each(false, [](void* block, std::size_t bytes) { release(block, bytes); });
  std::printf("%zu\n", left_when_idle(48U << 20));
  each(false, [](void*& block, std::size_t bytes) { block = allocate(bytes); });
  for (const bool lives : {true, false})
    each(lives, [](void* block, std::size_t bytes) { release(block, bytes); });
}

void idle() {
  free_many_blocks();
  std::printf("%zu\n", left_when_idle());
}

void replaced() {
  free_many_small_blocks();
  allocate(100U << 20);
  std::printf("%zu\n", anonymous_bytes());
}

void child() {
  free_many_blocks();
  const pid_t child = fork();
  if (child == 0) {
    free_many_blocks();
    _exit(left_when_idle() < idle_limit ? 0 : 1);
  }
  std::printf("%s\n", heaplab::check::status_of(child) == 0 ? "idle" : "holds memory");
}

void refused() {
  const rlimit none = {0, 0};
  if (setrlimit(RLIMIT_NPROC, &none) != 0 || (geteuid() == 0 && setuid(nobody) != 0)) std::_Exit(1);
  free_many_blocks();
  usleep(2'000'000);
  if (anonymous_bytes() < idle_limit) std::_Exit(1);
  for (std::size_t size = 20'000; size < 200'000 && anonymous_bytes() >= idle_limit; size *= 2) {
    for (void* const memory : {allocate(size), allocate(2U << 20)}) std::free(memory);
    usleep(600'000);
  }
  std::printf("%s\n", anonymous_bytes() < idle_limit ? "later" : "never");
}

void single() {
  free_many_blocks();
  const auto tasks = std::distance(std::filesystem::directory_iterator("/proc/self/task"), {});
  std::printf("%s\n", tasks == 2 && __libc_single_threaded != 0 ? "single" : "counted");
}

void locked() {
  if (mlockall(MCL_CURRENT | MCL_FUTURE) != 0) {
    std::printf("refused\n");
    return;
  }
  // A freed span cannot be purged while it is locked.
  for (unsigned round = 0; round < 2; ++round) {
    std::vector<void*> blocks;
    for (std::size_t i = 0; i < 300; ++i) blocks.push_back(allocate(i * 150));
    for (std::size_t i = 0; i < 300; ++i) release(blocks[i], i * 150);
  }
  release(allocate(3U << 20), 3U << 20);
  resident();
}

void locked_out() {
  const rlimit little = {1U << 20, 1U << 20};
  if (setrlimit(RLIMIT_MEMLOCK, &little) != 0 || (geteuid() == 0 && setuid(nobody) != 0)) std::_Exit(1);
  if (mlockall(MCL_FUTURE) != 0) std::_Exit(1);
  resident();
  errno = 0;
  void* const large = std::malloc(30U << 20);
  if (large == nullptr && errno != ENOMEM) std::_Exit(1);
  std::free(large);
  std::printf("served\n");
}

}  // namespace

int main(int count, char** arguments) {
  struct {
    std::string_view name;
    void (*run)();
  } constexpr tasks[] = {{"reuse", reuse},     {"retained", retained},     {"reserved", reserved},
                         {"flags", flags},     {"resident", resident},     {"locked", locked},
                         {"huge", huge},       {"locked-out", locked_out}, {"idle", idle},
                         {"child", child},     {"refused", refused},       {"single", single},
                         {"thinned", thinned}, {"replaced", replaced}};
  if (count == 3) longest_wait = static_cast<unsigned>(std::strtoul(arguments[2], nullptr, 10));
  for (const auto& task : tasks)
    if ((count == 2 || count == 3) && task.name == arguments[1]) return task.run(), 0;
  return std::fputs("usage: probe TASK [SECONDS]\n", stderr), 2;
}
