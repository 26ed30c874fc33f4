// Usage: given_back bursts|idle|threads|generations|sizes|large_sizes|steady|sleepers
//
// Reports how much memory a library retains of what a program has freed, and fails if that memory grows
// without end:
//
//   bursts    64 MiB in small blocks and 64 MiB in large ones, freed at once, five times
//   idle      one such burst, then two seconds in which the program allocates a little now and then
//   threads   32 threads, one after the other, each of which allocates 8 MiB, frees them and ends
//   generations   many times eight threads at once, which allocate and free blocks of random sizes and end
//   sizes     24 bursts of 16 MiB, each of blocks of another size
//   large_sizes   eight bursts of 128 MiB, each of blocks of another size above 1 MiB
//   steady    100 blocks of one size live, and one after the other is replaced: 1 GiB for each of some sizes
//   sleepers  50 threads allocate 6 MiB each in blocks of nine sizes and sleep; another frees all, and calls
//             malloc_trim, which fails if it says that it gave memory back, and more than a quarter stays
//
// Each heap of a burst starts and ends empty except for one block in 1000. Exit statuses: see ending.h.
#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <barrier>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string_view>
#include <thread>
#include <vector>

#include "check/amount.h"
#include "check/ending.h"
#include "check/run_threads.h"
#include "probes/process_memory.h"

namespace {

using heaplab::check::require;

constexpr std::size_t mebibyte = std::size_t{1} << 20;

const heaplab::probes::process_memory& memory() {
  static const heaplab::probes::process_memory result;
  return result;
}

std::uint64_t anonymous() {
  return memory().read().anonymous;
}

char* written(std::size_t size) {
  auto* const block = static_cast<char*>(std::malloc(size));
  require(block != nullptr, "a block is refused");
  std::memset(block, 1, size);
  return block;
}

// Allocates and writes blocks of one size, then frees all but one in a thousand.
void burst(std::size_t bytes, std::size_t size, std::vector<void*>& kept) {
  std::vector<char*> blocks(bytes / size);
  for (char*& one : blocks) one = written(size);
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    if (i % 1000 == 999)
      kept.push_back(blocks[i]);
    else
      std::free(blocks[i]);
  }
}

void tell(std::uint64_t begin, std::uint64_t peak, const char* after) {
  const std::uint64_t now = anonymous();
  const double kept = now > begin ? static_cast<double>(now - begin) : 0;
  std::printf(R"({"says":"%.0f %% of %.0f MiB still held %s","figures":{"peak_B":%.0f,"held_B":%.0f}})"
              "\n",
              100 * kept / static_cast<double>(peak - begin), static_cast<double>(peak - begin) / mebibyte,
              after, static_cast<double>(peak - begin), kept);
  std::fflush(stdout);
}

void mixed_burst(std::vector<void*>& kept) {
  burst(64 * mebibyte, 200, kept);
  burst(64 * mebibyte, 300'000, kept);
}

void bursts() {
  std::vector<void*> kept;
  const std::uint64_t begin = anonymous();
  std::uint64_t first = 0, peak = 0;
  for (unsigned round = 0; round < 5; ++round) {
    mixed_burst(kept);
    if (round == 0) first = anonymous();
    peak = std::max(peak, anonymous());
  }
  tell(begin, begin + 128 * mebibyte, "after five bursts");
  require(peak <= first + 64 * mebibyte, "bursts of equal size add up");
}

void idle() {
  std::vector<void*> kept;
  const std::uint64_t begin = anonymous();
  mixed_burst(kept);
  for (unsigned i = 0; i < 20; ++i) {
    usleep(100'000);
    for (unsigned j = 0; j < 10; ++j) std::free(std::malloc(100));
  }
  tell(begin, begin + 128 * mebibyte, "two seconds after a burst");
}

void threads() {
  const std::uint64_t begin = anonymous();
  std::uint64_t early = 0;
  for (unsigned i = 0; i < 32; ++i) {
    std::thread([] {
      std::vector<void*> kept;
      burst(8 * mebibyte, 500, kept);
      for (void* const one : kept) std::free(one);
    }).join();
    if (i == 3) early = anonymous();
  }
  const std::uint64_t late = anonymous();
  tell(begin, begin + 8 * mebibyte, "after 32 threads have ended");
  require(late <= early + 32 * mebibyte, "the memory of ended threads adds up");
}

void live_for_a_while(unsigned seed) {
  std::minstd_rand random(seed + 1);
  void* blocks[2000];
  for (void*& one : blocks) one = written(16 + (random() % 40'000 >> random() % 9));
  for (void* const one : blocks) std::free(one);
}

void generations() {
  constexpr unsigned at_once = 8;
  const unsigned many = heaplab::check::rounds(3000);
  const std::uint64_t begin = anonymous();
  std::uint64_t early = 0;
  for (unsigned generation = 0; generation < many; ++generation) {
    heaplab::check::run_threads(at_once, [&](unsigned i) { live_for_a_while(generation * at_once + i); });
    if (generation == many / 3) early = anonymous();
  }
  const std::uint64_t late = anonymous();
  tell(begin, std::max(late, begin + mebibyte), "after generations of threads");
  require(late <= early + 16 * mebibyte, "each generation of threads adds memory");
}

void shift_sizes(unsigned count, std::size_t bytes, std::size_t size, std::size_t most) {
  std::vector<void*> kept;
  const std::uint64_t begin = anonymous();
  std::uint64_t peak = begin;
  for (unsigned i = 0; i < count; ++i, size += size / 4) {
    burst(bytes, size, kept);
    peak = std::max(peak, anonymous());
  }
  tell(begin, peak, "after sizes that shifted");
  require(peak - begin <= most, "freed blocks of one size do not serve other sizes");
}

void sizes() {
  shift_sizes(24, 16 * mebibyte, 48, 256 * mebibyte);
}

void large_sizes() {
  shift_sizes(8, 128 * mebibyte, mebibyte / 10 * 11, 512 * mebibyte);
}

void replace_one_by_one(std::size_t size) {
  constexpr std::size_t live = 100, page = 4096;
  char* blocks[live] = {};
  for (std::size_t i = 0; i < 1024 * mebibyte / size; ++i) {
    char*& one = blocks[i * 61 % live];
    std::free(one);
    one = static_cast<char*>(std::malloc(size));
    require(one != nullptr, "a block is refused");
    for (std::size_t at = 0; at < size; at += page) one[at] = 1;
    one[size - 1] = 1;
  }
  for (char* const one : blocks) std::free(one);
}

void steady() {
  constexpr std::size_t slack = 32 * mebibyte;
  for (const std::size_t size : {100U, 1'000U, 20'000U, 300'000U}) {
    const std::uint64_t begin = anonymous();
    replace_one_by_one(size);
    // An earlier size may have left more than this one needs.
    require(anonymous() <= begin + 100 * size + slack, "blocks that are replaced one by one add up");
  }
  std::puts(R"({"says":"nothing adds up while blocks are replaced one by one"})");
}

void sleepers() {
  constexpr std::size_t block_sizes[] = {64, 200, 1'000, 3'000, 6'000, 20'000, 50'000, 100'000, 200'000};
  constexpr unsigned count = 50, of_each = 16;
  static void* blocks[count][std::size(block_sizes)][of_each];
  const std::uint64_t begin = anonymous();
  std::barrier all_are_there(count + 1), may_end(count + 1);
  std::vector<std::thread> all;
  for (unsigned thread = 0; thread < count; ++thread)
    all.emplace_back([&, thread] {
      for (std::size_t size = 0; size < std::size(block_sizes); ++size)
        for (void*& one : blocks[thread][size]) one = written(block_sizes[size]);
      all_are_there.arrive_and_wait();
      may_end.arrive_and_wait();
    });
  all_are_there.arrive_and_wait();
  const std::uint64_t peak = anonymous();
  for (auto& of_thread : blocks)
    for (auto& of_size : of_thread)
      for (void* const one : of_size) std::free(one);
  const bool gives_back = malloc_trim(0) != 0;
  const std::uint64_t left = anonymous();
  tell(begin, peak, "after malloc_trim, by threads that sleep");
  may_end.arrive_and_wait();
  for (std::thread& one : all) one.join();
  require(!gives_back || left < begin + (peak - begin) / 4, "malloc_trim leaves what threads that sleep had");
}

struct task {
  std::string_view name;
  void (*perform)();
};
constexpr task tasks[] = {{"bursts", bursts},           {"idle", idle},        {"threads", threads},
                          {"generations", generations}, {"sizes", sizes},      {"large_sizes", large_sizes},
                          {"steady", steady},           {"sleepers", sleepers}};

}  // namespace

int main(int count, char** arguments) {
  for (const task& one : tasks)
    if (count == 2 && one.name == arguments[1]) return one.perform(), 0;
  return std::fputs("usage: given_back bursts|idle|threads|generations|sizes|large_sizes|steady|sleepers\n",
                    stderr),
         heaplab::check::wrong_usage;
}
