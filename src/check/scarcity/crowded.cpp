// Usage: crowded many | crowded split MIB
//
// Uses up the mappings that the kernel allows a process (vm.max_map_count) and then allocates:
//
//   many    There is room for 3000 more mappings. 6000 blocks of 33 MiB and small blocks of every kind are
//           to be served.
//   split   There is room for 10 more mappings. Blocks of MIB mebibytes between other blocks are freed, which
//           would split a mapping: their memory is to be purged, and their addresses are to serve the next
//           blocks. Small blocks are to be served.
//
// Exit status 0: all held, 1: something did not (a line says what), 2: wrong usage.
#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <random>
#include <string_view>
#include <vector>

#include "check/blocks.h"
#include "check/ending.h"

namespace {

using heaplab::check::require;

constexpr std::size_t mebibyte = std::size_t{1} << 20;

// Maps areas of two pages each until the kernel refuses, and unmaps about `room` of them.
void use_up_mappings(std::size_t room) {
  std::size_t limit = 0;
  std::ifstream("/proc/sys/vm/max_map_count") >> limit;
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const std::size_t bytes = (limit + 100) * page;
  char* const start =
      static_cast<char*>(mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
  require(start != MAP_FAILED, "no address space to use mappings up in");
  std::size_t used = 0;
  while (mprotect(start + used * page, page, PROT_READ) == 0) used += 2;
  for (std::size_t given = 0; given < room && used > 0; given += 2) {
    used -= 2;
    require(mprotect(start + used * page, page, PROT_NONE) == 0, "a mapping is not given back");
  }
}

struct pages {
  std::size_t mapped, resident;
};

std::size_t bytes_held(std::size_t pages::* which) {
  pages now{};
  std::ifstream("/proc/self/statm") >> now.mapped >> now.resident;
  return now.*which * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

std::vector<void*> allocate(std::size_t count, std::size_t large) {
  std::vector<void*> blocks(count);
  for (void*& memory : blocks) {
    memory = std::malloc(large);
    require(memory != nullptr, "a large block is refused");
  }
  return blocks;
}

void free_shuffled(std::vector<void*>& blocks, unsigned seed) {
  std::minstd_rand random(seed);
  std::shuffle(blocks.begin(), blocks.end(), random);
  for (void* const memory : blocks) std::free(memory);
}

void many() {
  use_up_mappings(3000);
  for (unsigned round = 1; round <= 3; ++round) {
    std::vector<void*> blocks = allocate(6000, 33 * mebibyte);
    std::vector<void*> small;
    for (std::size_t size = 16; size <= mebibyte; size += size / 2)
      for (unsigned copy = 0; copy < 20; ++copy) {
        small.push_back(std::malloc(size));
        require(small.back() != nullptr, "a small block is refused");
        std::memset(small.back(), 1, size);
      }
    free_shuffled(small, round);
    free_shuffled(blocks, round);
  }
}

// All blocks except the outermost two, which lie at the ends of a mapping.
std::vector<void*> inner(const std::vector<void*>& blocks) {
  return {blocks.begin() + 1, blocks.end() - 1};
}

// Precondition: the allocator does not retain the memory of blocks of `size` for ever.
void split(std::size_t size) {
  std::vector<void*> blocks = allocate(60, size);
  use_up_mappings(10);
  malloc_trim(0);
  const std::size_t mapped = bytes_held(&pages::mapped), resident = bytes_held(&pages::resident);
  for (unsigned round = 1; round <= 20; ++round) {
    std::vector<void*> freed = inner(blocks);
    for (void* const memory : freed) static_cast<char*>(memory)[0] = 1;
    std::memset(freed[round], 1, size);
    void* const smaller = std::realloc(freed[round], size / 3);
    require(smaller != nullptr, "a block is refused to be smaller");
    require(static_cast<char*>(smaller)[size / 3 - 1] == 1, "realloc: contents lost");
    freed[round] = smaller;
    free_shuffled(freed, round);
    malloc_trim(0);
    // The memory of the smaller block may be retained for ever, hence size / 2.
    require(bytes_held(&pages::resident) < resident + size / 2 + mebibyte, "memory of freed blocks is lost");
    const std::vector<void*> again = allocate(freed.size(), size);
    require(bytes_held(&pages::mapped) <= mapped + 4 * size, "addresses of freed blocks are lost");
    std::copy(again.begin(), again.end(), blocks.begin() + 1);
    auto* const zeroed = static_cast<char*>(std::calloc(size, 1));
    require(zeroed != nullptr, "a large block is refused");
    require(heaplab::testing::is_zero(zeroed, size), "calloc: not zero");
    std::free(zeroed);
  }
  for (std::size_t small = 16; small <= mebibyte; small += small / 2)
    require(std::malloc(small) != nullptr, "a small block is refused");
}

}  // namespace

int main(int count, char** arguments) {
  const std::string_view task = count > 1 ? arguments[1] : "";
  if (task == "many" && count == 2) return many(), 0;
  const std::size_t mebibytes = count == 3 ? std::strtoul(arguments[2], nullptr, 10) : 0;
  if (task == "split" && mebibytes > 0) return split(mebibytes * mebibyte), 0;
  return std::fputs("usage: crowded many | crowded split MIB\n", stderr), 2;
}
