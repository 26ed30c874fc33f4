// Usage: resized [used_up]
//
// Resizes blocks from every size to every other, across the borders at which allocators change the kind of
// memory of a block. Without an argument, every refusal is accepted that leaves the block and its contents as
// they were. With used_up, the program uses up all memory first: a smaller size must not be refused then,
// because the block that there is has room for it. Exit statuses: see ending.h.
#include <sys/resource.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "check/blocks.h"
#include "check/ending.h"

namespace {

using namespace heaplab::check;
using heaplab::testing::opaque;

constexpr std::size_t sizes[] = {16,        500,       3'000,     40'000,     300'000,
                                 1'500'000, 3'000'000, 6'000'000, 40'000'000, 60'000'000};
// The first sizes, which fit into a small address space together.
constexpr std::size_t small_sizes = 8;
constexpr std::size_t mebibyte = std::size_t{1} << 20, limit = 300 * mebibyte;

// Calls visit(place, value) for one byte of each page. Of a huge block only the first 400 pages are visited
// one by one, then every fiftieth.
template <class Visit>
void each_mark(std::size_t size, int seed, Visit&& visit) {
  constexpr std::size_t page = 4096, many = 400 * page;
  for (std::size_t at = 0; at < size; at += at < many ? page : 50 * page)
    visit(at, static_cast<char>(seed + static_cast<int>(at / page)));
}

// The last byte gets a mark of its own.
void mark(char* block, std::size_t size, int seed) {
  each_mark(size, seed, [block](std::size_t at, char value) { block[at] = value; });
  block[size - 1] = static_cast<char>(seed);
}

bool has_marks(const char* block, std::size_t size, int seed) {
  bool all = true;
  each_mark(size, seed, [&](std::size_t at, char value) { all = all && block[at] == value; });
  return all;
}

void resize(std::size_t from, std::size_t to) {
  const int seed = 1;
  auto* const block = static_cast<char*>(std::malloc(from));
  if (block == nullptr) return;
  mark(block, from, seed);
  errno = 0;
  auto* const moved = static_cast<char*>(std::realloc(opaque(block), to));
  require(moved != nullptr || errno == ENOMEM, "realloc: null without ENOMEM");
  char* const now = moved == nullptr ? block : moved;
  const std::size_t size = moved == nullptr ? from : to;
  const std::size_t kept = (from < size ? from : size) - 1;
  require(has_marks(now, kept, seed), "realloc: contents lost");
  // All of the block can be used.
  mark(now, size, seed + 1);
  std::free(now);
}

// Uses up what the limit leaves, down to the smallest blocks. What it takes stays.
void use_up_memory() {
  for (std::size_t size = mebibyte; size >= 16; size /= 2)
    while (void* const memory = std::malloc(size)) *static_cast<char*>(opaque(memory)) = 1;
}

void shrink_where_memory_is_used_up() {
  static char* blocks[small_sizes][small_sizes];
  for (std::size_t from = 0; from < small_sizes; ++from)
    for (std::size_t to = 0; to < from; ++to) {
      blocks[from][to] = static_cast<char*>(std::malloc(sizes[from]));
      require(blocks[from][to] != nullptr, "a block is refused");
      mark(blocks[from][to], sizes[from], 1);
    }
  const rlimit wanted{limit, limit};
  require(setrlimit(RLIMIT_AS, &wanted) == 0, "the limit cannot be set");
  use_up_memory();
  bool all = true;
  for (std::size_t from = 0; from < small_sizes; ++from)
    for (std::size_t to = 0; to < from; ++to) {
      errno = 0;
      auto* const moved = static_cast<char*>(std::realloc(opaque(blocks[from][to]), sizes[to]));
      if (moved == nullptr) {
        all = false;
        std::fprintf(stderr, "realloc from %zu to %zu bytes is refused, error number %d\n", sizes[from],
                     sizes[to], errno);
        continue;
      }
      require(has_marks(moved, sizes[to] - 1, 1), "realloc: contents lost");
      mark(moved, sizes[to], 2);
      std::free(moved);
      // The next resize must not live on memory that this block gave back.
      use_up_memory();
    }
  if (!all) std::_Exit(failed);
}

}  // namespace

int main(int count, char** arguments) {
  if (count == 2 && arguments[1] == std::string_view("used_up")) return shrink_where_memory_is_used_up(), 0;
  if (count != 1) return std::fputs("usage: resized [used_up]\n", stderr), wrong_usage;
  for (const std::size_t from : sizes)
    for (const std::size_t to : sizes)
      if (from != to) resize(from, to);
  return 0;
}
